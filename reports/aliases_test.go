package reports

import "vramsoak/fixtures/timelines"

var (
	gib = timelines.GiB
	mib = timelines.MiB
)
