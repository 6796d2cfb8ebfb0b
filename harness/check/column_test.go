package check

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestColumnThins adds the files 0 to 9 to a column that keeps at most four. When file 4 comes, the
// column drops every second file. When file 8 comes, it keeps only every fourth.
func TestColumnThins(t *testing.T) {
	c := column{most: 4}
	for n := range int32(10) {
		c.add(n, float64(10*n), 0)
	}
	if want := []int32{0, 4, 8}; !slices.Equal(c.files, want) {
		t.Errorf("got files %v, want %v", c.files, want)
	}
	got := c.over([]int32{0, 1, 8})
	if diff := cmp.Diff(Values{0, math.NaN(), 80}, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	p := processValues{files: c.files, values: c.values, stride: 4}
	nan := math.NaN()
	if diff := cmp.Diff([]float64{0, nan, nan, nan, 40, nan, nan, nan, 80}, p.spread(p.values),
		cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if p.span() != 9 || p.at(8) != 8 {
		t.Errorf("a span of %d that ends at %d", p.span(), p.at(8))
	}
}

// TestColumnOfOneQuantity: a column keeps the quantity of its first level. File 2 has only reserved
// memory, so the column leaves it out.
func TestColumnOfOneQuantity(t *testing.T) {
	var c column
	c.addLevel(record.Allocated, 1, record.Exact(100))
	c.addLevel(record.Reserved, 2, record.Exact(900))
	c.addLevel(record.Allocated, 3, record.Exact(300))
	if diff := cmp.Diff(Values{100, math.NaN(), 300}, c.over([]int32{1, 2, 3}),
		cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// TestLongRunOfShortProcesses: 20,000 files run in processes of ten files each. Each file reserves
// 4 MiB that it never allocates. The report must find that growth.
func TestLongRunOfShortProcesses(t *testing.T) {
	tl := &timeline.Timeline{}
	for i := range 20_000 {
		c := record.Checkpoint{Name: "After File"}
		c.Pos.Line = i + 1
		c.Set(record.Allocated, record.Exact(100<<20))
		c.Set(record.Reserved, record.Exact(200<<20+int64(i%10)*4<<20))
		tl.Files = append(tl.Files, &timeline.File{
			Index: i + 1, Process: i / 10, Status: record.StatusOK, Supervised: true, Pos: c.Pos,
			EndPos:      c.Pos,
			Checkpoints: []record.Checkpoint{c},
		})
	}
	for _, f := range Of(tl, DefaultPolicy()).Findings {
		switch {
		case f.Check == Fragmentation && f.Verdict != Fail, f.Check == Leak && f.Verdict != Pass:
			t.Errorf("%s: %s: %s", f.Check, f.Verdict, f.Message)
		}
	}
}
