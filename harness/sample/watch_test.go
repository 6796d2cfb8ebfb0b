package sample

import (
	"testing"

	"vramsoak/parser/record"
)

// TestNotePool: only memory that is taken at once, by a process with such a library, is a pool.
func TestNotePool(t *testing.T) {
	t.Parallel()
	const whole, own = record.SourceDevice, record.SourceProcess
	w := &watch{last: map[int]record.Sample{}}
	for i, c := range []struct {
		device    int
		source    string
		used      int64 // of 100
		lib, want string
	}{
		{0, whole, 40, "JAX", ""}, // other processes may hold it
		{0, whole, 64, "JAX", ""}, // less than a quarter
		{0, whole, 89, "", ""},
		{1, whole, 60, "JAX", ""},
		{0, whole, 89, "JAX", ""},
		{1, own, 75, "JAX", "JAX"}, // of the process, which was not listed before
		{1, own, 75, "JAX", ""},
		{1, whole, 100, "JAX", ""}, // the driver does not list it for a moment
		{1, own, 20, "JAX", ""},
		{1, own, 44, "JAX", ""},
		{1, own, 80, "JAX", "JAX"},
		{2, own, 30, "JAX", "JAX"},
	} {
		s := record.Sample{Lane: record.Lane{Device: c.device}, Source: c.source}
		s.Set(record.Used, record.Exact(c.used))
		s.Set(record.Total, record.Exact(100))
		samples := []record.Sample{{}, s} // the first one is of no device
		w.notePool(samples, func() string { return c.lib })
		if got := samples[1].Pool; got != c.want || samples[0].Pool != "" {
			t.Errorf("sample %d: pool %q, want %q", i, got, c.want)
		}
	}
}
