package jsondoc

import (
	"io"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/sink"
)

// Comparison writes the verdict on a comparison and the comparison as one JSON object. It encodes
// one metric at a time, because a log may have 120,000 metrics.
func Comparison(w io.Writer, c *compare.Comparison, r *check.Report) error {
	short := *c
	short.Changes = []compare.Change{}
	return sink.WriteLongJSON(w, struct {
		*check.Report
		*compare.Comparison
	}{r, &short}, []sink.List{{Key: "metrics", Items: items(c.Changes)}})
}
