package reports

import (
	"vramsoak/reports/records"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

var (
	clean       = sink.Line
	number      = wording.Count
	ordered     = wording.Sorted
	plural      = wording.Plural
	shorten     = wording.Shorten
	withVerdict = wording.WithVerdict
	isReading   = records.IsReading
	measured    = wording.Measured
	limit       = wording.Limit
	describe    = records.Describe
)
