package reports

import "vramsoak/reports/sink"

func clean(s string) string { return sink.Line(s) }
