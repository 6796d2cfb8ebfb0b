package snapshot

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// TestNoLine: Python 3.13 gives -1 for a frame without a line number. torch/csrc/cuda/Module.cpp
// writes it as a uint64_t, and torch/csrc/cuda/memory_snapshot.cpp as an int64_t. The frame has no
// line number then.
func TestNoLine(t *testing.T) {
	for _, number := range []any{
		unsigned(math.MaxUint64), -1, 0, nil, unsigned(1 << 63), big.NewInt(1 << 40),
		new(big.Int).Lsh(big.NewInt(1), 100), new(big.Int).Lsh(big.NewInt(-1), 3000),
	} {
		d := read(t, dictOf{"segments", []any{dictOf{
			"address", base, "total_size", 2 * mib, "blocks", []any{dictOf{
				"size", 2 * mib, "requested_size", 2 * mib, "state", "active_allocated", "frames",
				[]any{dictOf{"name", "main", "filename", "/home/me/train.py", "line", number}},
			}},
		}}})
		site := d.Analyze(nil).Holds[0].Site
		if want := (Site{Function: "main", File: "/home/me/train.py"}); site != want {
			t.Errorf("line %v: %+v", number, site)
		}
		if got := site.String(); got != "/home/me/train.py main" {
			t.Errorf("line %v: %q", number, got)
		}
	}
}

// TestNumbersOutOfRange reads numbers that do not fit an int64_t, and negative ones. A number that
// cannot be what it should be is left out, and a note names it.
func TestNumbersOutOfRange(t *testing.T) {
	huge := unsigned(math.MaxUint64)
	longer := new(big.Int).Lsh(big.NewInt(1), 100)
	oom := func(key string, n any) dictOf {
		e := dictOf{
			"action", "oom", "device_free", 5 * mib, "size", 30 * mib, "stream", 0, "time_us", 7,
		}
		return append(e, key, n) // of two values for one key, the last counts
	}
	traces := func(events ...any) dictOf { return held20("device_traces", []any{events}) }
	tests := map[string]struct {
		file dictOf
		want string // a note, or "" for none
	}{
		"max_split_size as size_t": {
			held20("allocator_settings", dictOf{"PYTORCH_CUDA_ALLOC_CONF", "", "max_split_size", huge}), "",
		},
		"an unknown setting":   {held20("allocator_settings", dictOf{"of later", longer}), ""},
		"an unknown key":       {held20("of later", longer), `not shown: "of later"`},
		"a stream":             {traces(oom("stream", huge)), ""},
		"a time":               {traces(oom("time_us", huge)), ""},
		"an annotation's time": {held20("external_annotations", []any{dictOf{"time_us", longer}}), ""},
		"device_free below 0": {
			traces(oom("device_free", -5)),
			`the "device_free" of an event is -5; it counts as 0 B`,
		},
		"device_free as size_t": {
			traces(oom("device_free", huge), oom("device_free", huge)),
			`the "device_free" of 2 events is 18446744073709551615; it counts as 0 B`,
		},
		"a request below 0": {traces(oom("size", -1)), `the "size" of an event is -1`},
		"a request of 2^100": {
			traces(oom("size", longer)),
			`the "size" of an event is 1267650600228229401496703205376`,
		},
		"divisions": {
			held20("allocator_settings", dictOf{"roundup_power2_divisions", dictOf{"2", huge, "4", 3}}),
			`the "4" of roundup_power2_divisions is 3; it counts as 0`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			snap, err := Read(bytes.NewReader(pickled(t, tt.file)), "x")
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(snap.Notes, "\n"); tt.want == "" && notes != "" ||
				!strings.Contains(notes, tt.want) {
				t.Errorf("notes %q, want %q", notes, tt.want)
			}
			a := snap.Devices[0].Analyze(snap.Annotations)
			if a.Totals.Reserved != 20*mib || a.Totals.Requested != 20*mib {
				t.Errorf("%+v", a.Totals)
			}
			if err := snap.Devices[0].WriteTrace(&bytes.Buffer{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRequestedOutOfRange: a block's requested size may be unknown. It then counts as the block's
// size, so that no rounding is made up.
func TestRequestedOutOfRange(t *testing.T) {
	for _, size := range []any{unsigned(math.MaxUint64), -1, 3 * mib} {
		snap, err := Read(bytes.NewReader(pickled(t, []any{dictOf{
			"address", base, "total_size", 2 * mib, "blocks", []any{dictOf{
				"size", 2 * mib, "requested_size", size, "state", "active_allocated",
			}},
		}})), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := snap.Devices[0].Segments[0].Requested; got != 2*mib {
			t.Errorf("%v: requested %d", size, got)
		}
		const want = `the "requested_size" of a block is`
		if len(snap.Notes) != 1 || !strings.HasPrefix(snap.Notes[0], want) {
			t.Errorf("%v: notes %q", size, snap.Notes)
		}
	}
}

// TestHighAddresses: on Intel's cards addresses have the highest bit. Segments give them as size_t,
// events as int64_t, so that they are negative there.
func TestHighAddresses(t *testing.T) {
	high := uint64(0xff00_0000_0020_0000)
	signed := int(int64(high)) // the same 64 bits
	snap, err := Read(bytes.NewReader(pickled(t, dictOf{
		"segments",
		[]any{dictOf{
			"address", unsigned(high), "total_size", 20 * mib, "stream", 0, "blocks", []any{
				dictOf{
					"address", unsigned(high), "size", 20 * mib, "requested_size", 20 * mib,
					"state", "active_allocated",
				},
			},
		}},
		"device_traces",
		[]any{[]any{
			event("segment_alloc", signed, 20*mib, 0, 1, 1), event("alloc", signed, 20*mib, 0, 2, 2),
		}},
	})), "x")
	if err != nil {
		t.Fatal(err)
	}
	d := &snap.Devices[0]
	a := d.Analyze(nil)
	if d.Segments[0].Address != high || d.Events[0].Address != high || a.Trace.Unexplained != 0 ||
		a.Trace.StartReserved != 0 || a.Trace.Peak.Allocated != 20*mib {
		t.Errorf("%+v %+v", d, a.Trace)
	}
}

// TestNumbersRefused: without an address, a size or a device, the segments make no sense. The error
// names the number in the file.
func TestNumbersRefused(t *testing.T) {
	for key, tt := range map[string]struct {
		value any
		want  string
	}{
		"address": {
			new(big.Int).Lsh(big.NewInt(1), 64),
			`a segment whose "address" is an address, found 18446744073709551616`,
		},
		"total_size": {
			unsigned(1 << 63),
			`a segment whose "total_size" is from 0 to 2.00 TiB, found 9223372036854775808`,
		},
		"device": {unsigned(math.MaxUint64), `a segment's device, found 18446744073709551615`},
	} {
		segment := slices.Concat(held20()[1].([]any)[0].(dictOf), dictOf{key, tt.value})
		_, err := Read(bytes.NewReader(pickled(t, []any{segment})), "x")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
