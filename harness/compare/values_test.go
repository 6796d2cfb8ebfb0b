package compare

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
)

// runWith returns a run over files with these names, and with one metric.
func runWith(names []string, values ...float64) *Baseline {
	b := &Baseline{}
	for i, name := range names {
		b.Files = append(b.Files, check.MeasuredFile{Path: name, Index: i + 1})
	}
	b.Metrics = []check.Metric{{Name: "peak", Unit: check.Bytes, Values: values}}
	return b
}

// TestFileByFile: each file is with the same file of the base. Without a common file, all values
// are there, in the order of the runs.
func TestFileByFile(t *testing.T) {
	base := runWith([]string{"a.wav", "b.wav", "c.wav"}, 10, 20, 30)
	show := func(v Values) []string {
		var out []string
		for i, b := range v.Base {
			s := fmt.Sprintf("%s %g", b.File.Path, b.Value)
			if i < len(v.New) {
				s += fmt.Sprintf(", %s %g", v.New[i].File.Path, v.New[i].Value)
			}
			out = append(out, s)
		}
		return out
	}
	for _, c := range []struct {
		now    *Baseline
		paired bool
		want   []string
	}{
		{
			runWith([]string{"c.wav", "x.wav", "b.wav"}, 31, 99, 21),
			true,
			[]string{"b.wav 20, b.wav 21", "c.wav 30, c.wav 31"},
		},
		{
			runWith([]string{"x.wav", "y.wav"}, 1, 2),
			false,
			[]string{"a.wav 10, x.wav 1", "b.wav 20, y.wav 2", "c.wav 30"},
		},
	} {
		got := FileByFile(base, c.now, []Change{
			{Name: "peak", Unit: check.Bytes}, {Name: check.GrowthOf + "peak"}, {Name: "other"},
		})
		if diff := cmp.Diff(c.want, show(got[0])); diff != "" || got[0].Paired != c.paired {
			t.Errorf("paired is %v (-want +got):\n%s", got[0].Paired, diff)
		}
		if len(got[1].Base)+len(got[2].Base) > 0 {
			t.Errorf("got the values %+v of a growth, and of no metric", got[1:])
		}
	}
}
