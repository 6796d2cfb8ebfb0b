package compare

import (
	"fmt"
	"slices"
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
		}).Values
		if diff := cmp.Diff(c.want, show(got[0])); diff != "" || got[0].Paired != c.paired {
			t.Errorf("paired is %v (-want +got):\n%s", got[0].Paired, diff)
		}
		if len(got[1].Base)+len(got[2].Base) > 0 {
			t.Errorf("got the values %+v of a growth, and of no metric", got[1:])
		}
	}
}

// TestPlaces: the batch moved to another folder and gained x.wav; c.wav failed in the new run.
func TestPlaces(t *testing.T) {
	base := runWith([]string{"/old/a.wav", "/old/b.wav", "/old/c.wav"}, 10, 20, 30)
	now := &Baseline{}
	now.Files = []check.MeasuredFile{
		{Path: "/new/x.wav", Index: 4}, {Path: "/new/b.wav", Index: 2}, {Path: "/new/a.wav", Index: 1},
	}
	now.Failed = []check.MeasuredFile{{Path: "/new/c.wav", Index: 3}}
	now.Metrics = []check.Metric{{Name: "peak", Unit: check.Bytes, Values: check.Values{99, 26, 11}}}
	all := FileByFile(base, now, []Change{{Name: "peak", Unit: check.Bytes, Limit: 5}})
	var got []string
	for _, p := range all.Places {
		got = append(got, fmt.Sprintf("%d %s %s", p.Number, p.Path, p.Only))
	}
	want := []string{"1 /new/a.wav ", "2 /new/b.wav ", "4 /new/x.wav new", "5 /old/c.wav base"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	v := all.Values[0]
	for _, of := range []struct {
		values        []FileValue
		value, places []float64
	}{
		{v.Base, []float64{10, 20}, []float64{0, 1}},
		{v.New, []float64{11, 26}, []float64{0, 1}},
		{v.OnlyBase, []float64{30}, []float64{3}},
		{v.OnlyNew, []float64{99}, []float64{2}},
	} {
		var value, places []float64
		for _, f := range of.values {
			value, places = append(value, f.Value), append(places, float64(f.Place))
		}
		if !slices.Equal(value, of.value) || !slices.Equal(places, of.places) {
			t.Errorf("got values %v at places %v, want %v at %v", value, places, of.value, of.places)
		}
	}
	if w := v.Worse; w.Count != 1 || w.First.Path != "/new/b.wav" || w.By != 6 {
		t.Errorf("got the worse files %+v, want b.wav, by 6", w)
	}
}

// TestWorseTimes: a limit of 10 % is 2 s of the median, 20 s. The file of 100 s took 108 s, 8 %
// more, which is allowed. The file of 10 s took 11.5 s, 15 % more, which is not.
func TestWorseTimes(t *testing.T) {
	names := []string{"a.wav", "b.wav", "c.wav"}
	base, now := runWith(names, 10, 20, 100), runWith(names, 11.5, 20, 108)
	base.Metrics[0].Unit, now.Metrics[0].Unit = check.Seconds, check.Seconds
	all := FileByFile(base, now, []Change{{Name: "peak", Unit: check.Seconds, Limit: 2}})
	if w := all.Values[0].Worse; w.Count != 1 || w.First.Path != "a.wav" || w.Most.Path != "a.wav" {
		t.Errorf("got the worse files %+v, want only a.wav", w)
	}
}

// TestNumbersOfPlaces: repeats have the same number, so all files are counted.
func TestNumbersOfPlaces(t *testing.T) {
	base, now := runWith([]string{"a.wav", "z.wav"}, 1, 2), runWith([]string{"a.wav", "a.wav"}, 1, 2)
	now.Files[1].Index = 1
	var got []int
	for _, p := range FileByFile(base, now, nil).Places {
		got = append(got, p.Number)
	}
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("got the numbers %v", got)
	}
}
