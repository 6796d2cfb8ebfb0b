package check

import (
	"testing"

	"vramsoak/harness/shape"
	"vramsoak/parser/timeline"
)

// TestSinceTogether: the finding on ledgers that grow together names the file that the finding of
// the first ledger names, or the one that a later ledger is certain of.
func TestSinceTogether(t *testing.T) {
	t.Parallel()
	of := &processValues{stride: 1, values: make([]float64, 60)}
	tl := &timeline.Timeline{}
	for i := range 60 {
		tl.Files = append(tl.Files, &timeline.File{Index: i + 1, Path: "a.wav"})
		of.files = append(of.files, int32(i))
	}
	grown := func(s shape.Shape, from int) *grownLedger {
		return &grownLedger{w: worstProcess{of: of, result: shape.Result{Shape: s, From: from}}}
	}
	for _, test := range []struct {
		name  string
		group []*grownLedger
		want  string
	}{
		{
			"certain",
			[]*grownLedger{grown(shape.Flat, 29), grown(shape.Flat, 30)},
			"from file 30 (a.wav) on",
		},
		{
			"the second is certain",
			[]*grownLedger{grown(shape.WarmUp, 29), grown(shape.Flat, 30)},
			"from file 31 (a.wav) on",
		},
		{
			"after a warm-up",
			[]*grownLedger{grown(shape.WarmUp, 29), grown(shape.WarmUp, 30)},
			"from file 30 (a.wav) on",
		},
		// Growth around a step begins with the process.
		{
			"around a step",
			[]*grownLedger{grown(shape.Step, 29), grown(shape.WarmUp, 30)},
			"from the first file on",
		},
		{
			"from the first file",
			[]*grownLedger{grown(shape.Flat, 0), grown(shape.Flat, 0)},
			"from the first file on",
		},
	} {
		if got := (&Judge{tl: tl}).since(test.group); got != test.want {
			t.Errorf("%s: found %q, want %q", test.name, got, test.want)
		}
	}
}
