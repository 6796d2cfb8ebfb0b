package check

import (
	"testing"

	"vramsoak/parser/record"
)

// TestCountSeries: the series that may fail a run share its false alarms. Constants and series of
// checks that do not gate do not count.
func TestCountSeries(t *testing.T) {
	t.Parallel()
	wobble := func(files int) int64 { return int64(files*7919%13) << 12 }
	for _, c := range []struct {
		name string
		held func(of record.Resource, files int, taken bool) int64
		gate string
		want int
	}{
		{"constants", steady, "", 0},
		{"host memory", func(of record.Resource, files int, _ bool) int64 {
			if of == record.HostMemory {
				return wobble(files)
			}
			return 7
		}, "", 1},
		{"all but threads and processes", func(_ record.Resource, files int, _ bool) int64 {
			return wobble(files)
		}, "", 3},
		{"one gates", func(_ record.Resource, files int, _ bool) int64 {
			return wobble(files)
		}, "gate: [file-descriptors]", 1},
	} {
		policy, err := ParsePolicy([]byte(c.gate), "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		tl := resourceRun{files: 60, held: c.held}.timeline()
		j := New(policy)
		for f := range tl.InOrder() {
			j.Add(f)
		}
		j.Report(tl)
		if j.series != c.want {
			t.Errorf("%s: %d series, want %d", c.name, j.series, c.want)
		}
		if got, want := j.level(DescriptorGrowth), runLevel/float64(max(1, c.want)); got != want {
			t.Errorf("%s: level %g, want %g", c.name, got, want)
		}
		if got := j.level(ThreadGrowth); got != runLevel {
			t.Errorf("%s: a check that does not gate has level %g", c.name, got)
		}
	}
}
