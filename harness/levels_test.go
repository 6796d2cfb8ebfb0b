package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

func readingOf(allocated, total int64) *record.Reading {
	r := &record.Reading{}
	r.Set(record.Allocated, record.Exact(allocated))
	if total > 0 {
		r.Set(record.Total, record.Exact(total))
	}
	return r
}

// TestLevels: a file's level is its last reading on the first device. The peak is the largest share
// of any device.
func TestLevels(t *testing.T) {
	t.Parallel()
	var l levels
	other := record.Lane{Device: 1}
	s := record.Sample{}
	s.Set(record.Used, record.Exact(99))
	s.Set(record.Total, record.Exact(100))
	l.sample(&s)
	l.note(readingOf(10, 100), record.Lane{})
	l.note(readingOf(50, 100), record.Lane{})
	l.note(readingOf(12, 100), record.Lane{})
	l.note(readingOf(30, 50), other) // 60 %
	l.sample(&s)                     // does not count: the pipeline prints its readings
	l.endFile()
	l.endFile() // a file without a reading
	l.note(readingOf(14, 100), record.Lane{})
	l.endFile()
	var p Progress
	l.put(&p)
	want := Progress{Levels: []int64{12, 14}, Peak: 30, Total: 50}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(Progress{}),
		cmp.Comparer(func(a, b record.Reading) bool { return a.SameSizes(&b) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLevelsOfSamples: if the pipeline prints nothing, the samples count.
func TestLevelsOfSamples(t *testing.T) {
	t.Parallel()
	var l levels
	for _, used := range []int64{5, 9, 7} {
		s := record.Sample{}
		s.Set(record.Used, record.Exact(used))
		s.Set(record.Total, record.Exact(10))
		l.sample(&s)
	}
	l.endFile()
	var p Progress
	l.put(&p)
	if len(p.Levels) != 1 || p.Levels[0] != 7 || p.Peak != 9 || p.Total != 10 {
		t.Errorf("%+v", p)
	}
}

// TestPeaks: the high-water mark is the largest share of any device, in whichever order the
// readings come. The peaks of processes on one device are not added.
func TestPeaks(t *testing.T) {
	t.Parallel()
	type reading struct {
		rank, device int
		bytes, total int64
	}
	for _, c := range []struct {
		name     string
		readings []reading
		want     peak
	}{
		{"none", nil, peak{}},
		{
			"three processes on one device",
			[]reading{{0, 0, 10, 24}, {1, 0, 5, 24}, {2, 0, 0, 24}},
			peak{10, 24},
		},
		{
			"a small device that is nearly full",
			[]reading{{0, 0, 50, 1000}, {0, 1, 10, 100}},
			peak{10, 100},
		}, // 5 % and 10 %
		{"a total in the first line only", []reading{{0, 0, 5, 100}, {0, 0, 10, 0}}, peak{10, 100}},
		{"a total in the last line only", []reading{{0, 0, 10, 0}, {0, 0, 5, 100}}, peak{10, 100}},
		{"no totals", []reading{{0, 0, 5, 0}, {0, 1, 10, 0}}, peak{10, 0}},
		{
			"a device without a total",
			[]reading{{0, 0, 20, 0}, {0, 1, 50, 1000}, {0, 2, 10, 100}},
			peak{10, 100},
		},
	} {
		for range len(c.readings) + 1 {
			var l levels
			for _, r := range c.readings {
				l.note(readingOf(r.bytes, r.total), record.Lane{Rank: r.rank, Device: r.device})
			}
			var p Progress
			l.put(&p)
			if got := (peak{p.Peak, p.Total}); got != c.want {
				t.Errorf("%s: %v gives %v, want %v", c.name, c.readings, got, c.want)
			}
			if n := len(c.readings); n > 0 { // the same in another order
				c.readings = append(c.readings[1:n:n], c.readings[0])
			}
		}
	}
}

// TestLevelsOfManyFiles: a long run keeps levels of files that are equally far apart.
func TestLevelsOfManyFiles(t *testing.T) {
	t.Parallel()
	var l levels
	const files = 10_000
	for i := range int64(files) {
		l.note(readingOf(i, 0), record.Lane{})
		l.endFile()
		if len(l.ended) > levelsKept {
			t.Fatalf("%d levels", len(l.ended))
		}
		for k, level := range l.ended {
			if level != int64(k*l.stride) {
				t.Fatalf("after %d files level %d is of file %d, with a stride of %d", i+1, k, level,
					l.stride)
			}
		}
	}
	if l.stride != 64 { // 10,000 / 64 = 157 levels, 10,000 / 32 would be 313
		t.Errorf("stride %d", l.stride)
	}
}
