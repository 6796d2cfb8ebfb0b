package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPyTorch214 reads a snapshot with the keys that PyTorch added up to 2.14: pool_id,
// compile_context and user_metadata of events, settings, fx_... of frames, host_segments and
// host_traces (pinned host memory, record_pinned_host_memory=True), and events that hold no memory.
func TestPyTorch214(t *testing.T) {
	w := workload()
	settings := w[5].(dictOf)
	settings = append(
		settings, "graph_capture_record_stream_reuse", false, "large_segment_size", 20*mib,
		"throw_on_cudamalloc_oom", true, "per_process_memory_fraction", 1.0, "of later", []any{nil},
	)
	traces := w[3].([]any)
	events := traces[1].([]any)
	for i, e := range events {
		e := append(
			e.(dictOf), "compile_context", "N/A", "user_metadata", "step 3", "pool_id", [2]int{0, 0},
			"of later", dictOf{"a", dictOf{}},
		)
		for j := range e {
			if e[j] == "frames" {
				frames := e[j+1].([]any)
				frames[2] = append(
					frames[2].(dictOf), "fx_node_op", "call_function", "fx_node_name", "mul",
					"fx_node_target", nil, "fx_original_trace", "x",
				)
			}
		}
		events[i] = e
	}
	events = append(
		[]any{
			dictOf{"action", "user_defined", "user_metadata", "a"},
			dictOf{"action", "annotate", "user_metadata", "b"},
		}, events...,
	)
	traces[1] = events
	w[5] = settings
	w = append(
		w, "host_segments", []any{dictOf{"address", 1, "size", 4096}, dictOf{}},
		"host_traces", []any{[]any{dictOf{"action", "alloc"}}, []any{}},
		"metadata", dictOf{"version", "2.14.1"}, "of later", nil,
	)
	snap, err := Read(bytes.NewReader(pickled(t, w)), "x")
	if err != nil {
		t.Fatal(err)
	}
	old := readWorkload(t)
	for i := range old.Devices {
		want, got := asJSON(t, old, i), asJSON(t, snap, i)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("device %d (-without the new keys, +with them):\n%s", i, diff)
		}
	}
	want := []string{
		`not shown: "host_segments" with 2 entries (pinned host memory)`,
		`not shown: "host_traces" with 1 entry (pinned host memory)`,
		`not shown: "metadata", a key that vramsoak does not know`,
		`not shown: "of later", a key that vramsoak does not know`,
	}
	if diff := cmp.Diff(want, snap.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// asJSON returns the analysis of a device in its JSON form.
func asJSON(t *testing.T, s *Snapshot, device int) string {
	t.Helper()
	text, err := json.MarshalIndent(s.Devices[device].Analyze(s.Annotations), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnknownActions: an event that vramsoak does not know may have changed the memory, so a note
// names it.
func TestUnknownActions(t *testing.T) {
	d := held20("device_traces", []any{[]any{
		dictOf{"action", "resize"}, dictOf{"action", "resize"}, dictOf{"action", "\x1b[2J"},
	}})
	snap, err := Read(bytes.NewReader(pickled(t, d)), "x")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`not shown: 2 events "resize", which vramsoak does not know`,
		`not shown: an event "\x1b[2J", which vramsoak does not know`,
	}
	if diff := cmp.Diff(want, snap.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestNotesAreBounded: a file may have any number of unknown keys and of any length.
func TestNotesAreBounded(t *testing.T) {
	d := held20()
	for i := range 1000 {
		d = append(d, fmt.Sprintf("%d%s", i, strings.Repeat("x", 1000)), nil)
	}
	snap, err := Read(bytes.NewReader(pickled(t, d)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Join(snap.Notes, "")); len(snap.Notes) != maxNotes+1 || n > 200*maxNotes {
		t.Errorf("%d notes of %d bytes", len(snap.Notes), n)
	}
	if got := snap.Notes[maxNotes]; got != "and 980 more such notes" {
		t.Errorf("the last note is %q", got)
	}
}

// TestPoolsOfEvents: in newer versions of PyTorch events give their pool. A request for a private
// pool can use only free memory of that pool. The pool of a segment that was freed again is known
// only from its events.
func TestPoolsOfEvents(t *testing.T) {
	pool := func(e dictOf, id int) dictOf { return append(e, "pool_id", [2]int{0, id}) }
	segment := func(n, id int) dictOf {
		return dictOf{
			"address", base + 64*mib*n, "total_size", 40 * mib, "segment_type", "large",
			"segment_pool_id",
			[2]int{0, id},
			"stream", 0, "blocks",
			[]any{
				dictOf{"size", 10 * mib, "requested_size", 10 * mib, "state", "active_allocated"},
				dictOf{"size", 30 * mib, "state", "inactive"},
			},
		}
	}
	failed := dictOf{"action", "oom", "device_free", 0, "size", 36 * mib, "stream", 0}
	// A segment of 26 MiB at 512 MiB that the trace allocates, and frees at its end.
	other := base + 512*mib
	events := func(id int) []any {
		return []any{
			pool(event("segment_alloc", other, 26*mib, 0, 1, 1), id),
			pool(event("alloc", other, 26*mib, 0, 2, 1), id),
			pool(event("free_requested", other, 26*mib, 0, 3, 1), id),
			pool(event("free_completed", other, 26*mib, 0, 4, 1), id),
			pool(append(dictOf{}, failed...), 1),
			pool(append(dictOf{}, failed...), 0),
			pool(event("segment_free", other, 26*mib, 0, 5, 1), id),
		}
	}
	for id, want := range map[int][2]int64{ // usable for the request in pool 1 and in the common pool
		0: {30 * mib, 30*mib + 26*mib}, 1: {30*mib + 26*mib, 30 * mib}, 2: {30 * mib, 30 * mib},
	} {
		d := read(t, dictOf{
			"segments", []any{segment(0, 1), segment(1, 0)}, "device_traces", []any{events(id)},
		})
		a := d.Analyze(nil)
		got := [2]int64{a.Trace.OOMs[0].Usable, a.Trace.OOMs[1].Usable}
		if got != want || a.Trace.Unexplained != 0 {
			t.Errorf("pool %d: %d usable, want %d; %d unexplained", id, got, want, a.Trace.Unexplained)
		}
	}
}
