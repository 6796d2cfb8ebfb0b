package html

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

func TestColumn(t *testing.T) {
	got, err := json.Marshal(column{5, 7, missing, 6, 6, -1})
	if err != nil || string(got) != "[5,2,null,-1,0,-7]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestKeepExtremes: in random tables, each bucket keeps its ends and its extremes.
func TestKeepExtremes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n, stride := 1+random.IntN(300), 1+random.IntN(40)
		c := make(column, n)
		for i := range c {
			if c[i] = int64(random.IntN(50)); c[i] == 7 {
				c[i] = missing
			}
		}
		keep := keepExtremes(func(i int) int { return i }, n, stride, []column{c},
			func(i int) bool { return i%97 == 5 })
		for from := 0; from < n; from += stride {
			to := min(n, from+stride)
			if !keep[from] || !keep[to-1] {
				t.Fatalf("rows %d to %d of %d: an end is missing", from, to, n)
			}
			all, kept := map[string]int64{}, map[string]int64{}
			note := func(m map[string]int64, v int64) {
				if _, known := m["low"]; !known {
					m["low"], m["high"] = v, v
				}
				m["low"], m["high"] = min(m["low"], v), max(m["high"], v)
			}
			for i := from; i < to; i++ {
				if c[i] == missing {
					continue
				}
				note(all, c[i])
				if keep[i] {
					note(kept, c[i])
				}
				if i%97 == 5 && !keep[i] && stride < 97 {
					t.Fatalf("row %d is marked and was dropped", i)
				}
			}
			if diff := cmp.Diff(all, kept); diff != "" {
				t.Fatalf("rows %d to %d: %s", from, to, diff)
			}
		}
	}
}

func TestClock(t *testing.T) {
	const none = missing
	base := dated + 1_000_000_000_000
	for _, c := range []struct {
		name    string
		moments []moment
		x       []int64
		timed   bool
		cut     int64
	}{
		{
			"times count from the first",
			[]moment{{line: 1, time: base}, {line: 2, time: none}, {line: 3, time: base + 1500}},
			[]int64{0, 0, 1500},
			true, 0,
		},
		{
			"without times, checkpoints count",
			[]moment{
				{line: 1, time: none, counts: true, number: 1},
				{line: 2, time: none},
				{line: 3, time: none, counts: true, number: 2},
			},
			[]int64{1000, 1500, 2000},
			false, 0,
		},
		{
			"a clock that is set back by an hour does not turn the axis",
			[]moment{
				{line: 1, time: base},
				{line: 2, time: base + 5000},
				{line: 3, time: base - 3_600_000},
				{line: 4, time: base - 3_599_000},
			},
			[]int64{0, 5000, 5000, 6000},
			true, 0,
		},
		{
			"two processes may be a second apart",
			[]moment{{line: 1, time: base}, {line: 2, time: base + 1000}, {line: 3, time: base + 500}},
			[]int64{0, 1000, 1000},
			true, 0,
		},
		{
			"the axis leaves out the night before a run was resumed",
			[]moment{
				{line: 1, time: base},
				{line: 2, time: base + 1000},
				{line: 3, time: base + 9_001_000, resumed: true},
				{line: 4, time: base + 9_002_000},
			},
			[]int64{0, 1000, 1000, 2000},
			true, 9_000_000,
		},
		{
			"a time without a date does not count among dates",
			[]moment{{line: 1, time: -1 << 45}, {line: 2, time: base}, {line: 3, time: base + 10}},
			[]int64{0, 0, 10},
			true, 0,
		},
	} {
		got := makeClock(c.moments)
		if diff := cmp.Diff(c.x, got.x); diff != "" || got.timed != c.timed || got.cut != c.cut {
			t.Errorf("%s: timed %v, cut %d, %s", c.name, got.timed, got.cut, diff)
		}
	}
}

// TestQuotes: the lines around a position and further ones, with their numbers. Long lines are cut.
func TestQuotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	lines := make([]string, 100)
	for i := range lines {
		lines[i] = strings.Repeat("x", i)
	}
	lines[49] = strings.Repeat("long ", 1<<20)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	q := &quotes{}
	first := q.around(&record.Position{Path: "run.log", Line: 2}, 0)
	middle := q.around(&record.Position{Path: "run.log", Line: 50}, 0)
	end := q.around(&record.Position{Path: "run.log", Line: 100}, 98, 20, 97, 21)
	if err := q.read("run.log", path); err != nil {
		t.Fatal(err)
	}
	numbers := func(q *quotation) (n []int) {
		for _, l := range q.Lines {
			n = append(n, l.Number)
		}
		return n
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, numbers(first)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{20, 21, 92, 93, 94, 95, 96, 97, 98, 99, 100}, numbers(end)); diff != "" {
		t.Error(diff)
	}
	if l := middle.Lines[linesBefore]; l.Number != 50 || !l.Shows || len(l.Text) > lineMax+3 {
		t.Errorf("line %d has %d bytes, shows %v", l.Number, len(l.Text), l.Shows)
	}
	for i, l := range end.Lines {
		if l.Gap != (i == 2) || l.Shows != (l.Number == 98) {
			t.Errorf("line %d: gap %v, shows %v", l.Number, l.Gap, l.Shows)
		}
	}
	if q.around(nil, 0) != nil {
		t.Error("a finding without a position has a quotation")
	}
}

// TestFileNumbers: files have their numbers in the batch, unless these do not ascend in their log,
// as those of files that were tried again.
func TestFileNumbers(t *testing.T) {
	file := func(log string, index int) *timeline.File {
		return &timeline.File{Index: index, Pos: record.Position{Path: log}}
	}
	for _, c := range []struct {
		files []*timeline.File
		want  []int
	}{
		{[]*timeline.File{file("a", 3), file("b", 1), file("a", 7), file("b", 2)}, []int{3, 1, 7, 2}},
		{[]*timeline.File{file("a", 1), file("a", 2), file("a", 1), file("b", 5)}, []int{1, 2, 3, 5}},
		{[]*timeline.File{file("a", 0), {Outside: true}, file("a", 0)}, []int{1, 0, 2}},
	} {
		if diff := cmp.Diff(c.want, fileNumbers(c.files)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestNamed: a finding's subject names its device and rank, also if rank 1 and rank 11 exist.
func TestNamed(t *testing.T) {
	tl := &timeline.Timeline{Writers: map[int]string{3: "pod/asr-1"}}
	lane := func(rank, device int) record.Lane { return record.Lane{Rank: rank, Device: device} }
	for _, c := range []struct {
		subject string
		lane    record.Lane
		want    bool
	}{
		{"idle level (rank 1, device 0)", lane(1, 0), true},
		{"idle level (rank 11, device 0)", lane(1, 0), false},
		{"idle level (device 1)", lane(0, 1), true},
		{"idle level (pod/asr-1, device 0)", lane(3, 0), true},
		{"idle level", lane(0, 0), false},
	} {
		if got := named(c.subject, c.lane, tl); got != c.want {
			t.Errorf("%q names %v: got %v", c.subject, c.lane, got)
		}
	}
}

// TestStagesAt: a stage that began and did not end is known by its first checkpoint. A cleanup is
// no stage.
func TestStagesAt(t *testing.T) {
	f := &timeline.File{
		Stages: []timeline.Stage{{Name: "Resampling", Before: 1, After: 2}}, Unpaired: []int{3, 4},
	}
	for _, name := range []string{
		"File Start", "Before Resampling", "After Resampling", "Before Decoding",
		"Before Decoding Cleanup",
	} {
		f.Checkpoints = append(f.Checkpoints, record.Checkpoint{Name: name})
	}
	want := []string{"", "Resampling", "", "Decoding", ""}
	if diff := cmp.Diff(want, stagesAt(f)); diff != "" {
		t.Error(diff)
	}
}

// TestHalves: the rows of the top are at the same places, whether all of them are there or not.
func TestHalves(t *testing.T) {
	s := summary{}
	s.add("Cause", "a leak")
	s.add("Consequence", "memory runs out")
	if got := s.Halves(); len(got) != 2 || got[0][0].Name != "Cause" ||
		got[1][0].Name != "Consequence" {
		t.Errorf("got %v", got)
	}
	if got := (summary{}).Halves(); len(got) != 0 {
		t.Errorf("without rows, got %v", got)
	}
}
