package sample

import (
	"testing"

	"vramsoak/parser/record"
)

// TestNotePool: only memory that is taken at once, by a process with such a library, is a pool. The
// first sample of a process shows nothing: other processes may hold the memory.
func TestNotePool(t *testing.T) {
	t.Parallel()
	w := &watch{used: map[int]int64{}}
	for i, c := range []struct {
		device    int
		used      int64 // of 100
		lib, want string
	}{
		{0, 40, "JAX", ""}, // the first one
		{0, 64, "JAX", ""}, // less than a quarter
		{0, 89, "", ""},
		{1, 0, "JAX", ""},
		{0, 89, "JAX", ""},
		{1, 75, "JAX", "JAX"},
		{1, 75, "JAX", ""},
		{1, 0, "JAX", ""},
	} {
		s := record.Sample{Lane: record.Lane{Device: c.device}}
		s.Set(record.Used, record.Exact(c.used))
		s.Set(record.Total, record.Exact(100))
		samples := []record.Sample{{}, s} // the first one is of no device
		w.notePool(samples, func() string { return c.lib })
		if got := samples[1].Pool; got != c.want || samples[0].Pool != "" {
			t.Errorf("sample %d: pool %q, want %q", i, got, c.want)
		}
	}
}
