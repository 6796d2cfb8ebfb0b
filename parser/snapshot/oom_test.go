package snapshot

import (
	"bytes"
	"testing"
)

// held20 returns a snapshot with one segment of 20 MiB in use, and with the keys and values in
// more.
func held20(more ...any) dictOf {
	return append(dictOf{"segments", []any{dictOf{
		"address", base, "total_size", 20 * mib, "segment_type", "large", "blocks",
		[]any{dictOf{"size", 20 * mib, "requested_size", 20 * mib, "state", "active_allocated"}},
	}}}, more...)
}

func read(t *testing.T, v dictOf) *Device {
	t.Helper()
	snap, err := Read(bytes.NewReader(pickled(t, v)), "x")
	if err != nil {
		t.Fatal(err)
	}
	return &snap.Devices[0]
}

// TestAsPyTorchWrites reads unusual values that PyTorch writes: a request larger than any device,
// events that the program itself put into a trace, and any power of 2 in
// roundup_power2_divisions.
func TestAsPyTorchWrites(t *testing.T) {
	oom := func(size int) dictOf {
		return dictOf{"action", "oom", "device_free", 5 * mib, "size", size, "stream", 0}
	}
	for _, size := range []int{3 << 40, 1<<63 - 1} {
		if got := read(t, held20("device_traces", []any{[]any{oom(size)}})).Analyze(
			nil).Trace.OOMs[0]; got.Requested != int64(size) || got.Fragmented() {
			t.Errorf("%+v", got)
		}
	}
	d := read(t, held20("device_traces", []any{[]any{
		dictOf{"action", "user_defined", "addr", 0, "size", 0, "stream", 0},
		oom(1),
		dictOf{"action", "of later"},
	}}))
	if len(d.Events) != 1 || d.Events[0].Action != OOM {
		t.Errorf("%+v", d.Events)
	}
	if d := read(t, held20("device_traces", []any{[]any{dictOf{
		"action",
		"user_defined",
	}}})); len(d.Events) != 0 || d.Analyze(nil).Trace != nil {
		t.Errorf("%+v", d.Events)
	}
	for _, n := range []int64{128, 1 << 62} {
		d := read(t, held20("allocator_settings", dictOf{
			"roundup_power2_divisions",
			dictOf{"1", int(n)},
		}))
		m := d.first()
		if got := m.divisions[0]; got != n {
			t.Errorf("%d divisions, expected %d", got, n)
		}
		// 64 KiB in 128 divisions are steps of 512 bytes
		if got, want := m.round(100_000), int64(196*512); got != want {
			t.Errorf("%d divisions: rounded to %d, expected %d", n, got, want)
		}
	}
}

// TestUsable: a request can use only free blocks of the common pool that have the request's
// stream and its size class.
func TestUsable(t *testing.T) {
	segment := func(n, stream int, kind string, pool [2]int) dictOf {
		return dictOf{
			"address", base + 64*mib*n, "total_size", 40 * mib, "segment_type", kind, "segment_pool_id",
			pool, "stream", stream, "blocks",
			[]any{
				dictOf{"size", 2 * mib, "requested_size", 2 * mib, "state", "active_allocated"},
				dictOf{"size", 18 * mib, "state", "inactive"},
				dictOf{"size", 2 * mib, "requested_size", 2 * mib, "state", "active_allocated"},
				dictOf{"size", 18 * mib, "state", "inactive"},
			},
		}
	}
	failed := dictOf{"action", "oom", "device_free", 2 * mib, "size", 30 * mib, "stream", 0}
	again := []any{ // the trace allocates the segment; only the file gives its pool
		dictOf{"action", "segment_alloc", "addr", base, "size", 40 * mib, "stream", 0},
		dictOf{"action", "alloc", "addr", base, "size", 2 * mib, "stream", 0},
		dictOf{"action", "alloc", "addr", base + 20*mib, "size", 2 * mib, "stream", 0},
		failed,
	}
	tests := []struct {
		name       string
		segment    dictOf
		events     []any
		usable     int64
		fragmented bool
	}{
		{"common", segment(0, 0, "large", [2]int{0, 0}), []any{failed}, 36 * mib, true},
		{"private", segment(0, 0, "large", [2]int{0, 1}), []any{failed}, 0, false},
		{"private, in the trace", segment(0, 0, "large", [2]int{0, 1}), again, 0, false},
		{"common, in the trace", segment(0, 0, "large", [2]int{0, 0}), again, 36 * mib, true},
		{"another stream", segment(0, 16, "large", [2]int{0, 0}), []any{failed}, 0, false},
		{"small", segment(0, 0, "small", [2]int{0, 0}), []any{failed}, 0, false},
	}
	for _, tt := range tests {
		d := read(t, dictOf{"segments", []any{tt.segment}, "device_traces", []any{tt.events}})
		a := d.Analyze(nil)
		got := a.Trace.OOMs[0]
		if got.Free != 36*mib || got.Usable != tt.usable || got.Fragmented() != tt.fragmented ||
			a.Trace.Unexplained != 0 {
			t.Errorf("%s: %+v, %d unexplained", tt.name, got, a.Trace.Unexplained)
		}
	}
}

// TestMapsAreBounded: if a program retries, only its first MaxMaps failures get a map. Each map
// is made only when the caller's loop reaches it.
func TestMapsAreBounded(t *testing.T) {
	events := []any{
		dictOf{"action", "free_completed", "addr", base + 64*mib, "size", mib},
		event("alloc", base, 20*mib, 0, 1, 1),
	}
	for range 3 * MaxMaps {
		events = append(events, dictOf{"action", "oom", "device_free", 0, "size", 30 * mib, "stream", 0})
	}
	d := read(t, held20("device_traces", []any{events}))
	trace := d.Analyze(nil).Trace
	n := 0
	for range d.Maps(trace) {
		n++
	}
	// Three more maps are made: at the beginning, at the peak and at the end.
	if n != MaxMaps+3 || len(trace.OOMs) != 3*MaxMaps {
		t.Errorf("got %d maps of %d failures, want %d of %d", n, len(trace.OOMs), MaxMaps+3, 3*MaxMaps)
	}
	for range d.Maps(trace) {
		break // the loop may stop at any map
	}
}
