package trace_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// FuzzRead: Read accepts or refuses each line of arbitrary bytes, and AppendTo writes each accepted
// operation exactly as the line had it.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a 1 512\na 2 0512 1 # x\nf 1\ns 2 3\nF 0.5\nc max_split_size_mb:64\nS\ne\ny\nr"))
	f.Add([]byte("a 18446744073709551616 9223372036854775808\r\n\n# \n\tf\t2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Split(text, []byte{'\n'})
		last := 0
		for op, err := range trace.Read(bytes.NewReader(text), "fuzz") {
			if err != nil {
				bad, is := errors.AsType[*trace.Error](err)
				if !is || bad.Line <= last || bad.Line > len(lines) || bad.Column < 1 ||
					bad.Column > len(lines[bad.Line-1])+1 {
					t.Errorf("the error names no line: %v", err)
				}
				continue
			}
			if op.Line <= last || op.Line > len(lines) {
				t.Fatalf("line %d comes after line %d of %d", op.Line, last, len(lines))
			}
			last = op.Line
			if got := op.AppendTo(nil); !bytes.Equal(got, lines[op.Line-1]) {
				t.Errorf("line %d: read %q, wrote %q", op.Line, lines[op.Line-1], got)
			}
		}
	})
}

// FuzzAllocator: for any operations of a program, the allocator's figures agree with its blocks. If
// the oracle was built, it prints the same figures.
func FuzzAllocator(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x80\x01\x00\x90\x02\x01\x00\x03\x00\x70"))
	for seed := range byte(24) {
		program := []byte{seed, seed / 3, seed % 5}
		for i := range byte(90) {
			program = append(program, i*seed, i*7, i^seed*3)
		}
		f.Add(program)
	}
	// Inputs that the fuzzer found in earlier runs, one per line, as Go string literals.
	corpus, err := os.ReadFile("../../../fixtures/allocator/fuzz.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(corpus)) {
		data, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		settings, ops := decode(data)
		config, err := allocator.ParseConfig(settings.Conf)
		if err != nil {
			t.Fatal(err)
		}
		device := settings.Device()
		a := allocator.New(device, config)
		_, err = trace.Replay(io.Discard, checked(t, settings, ops, device, a), device, a,
			trace.Options{Name: "fuzz"})
		if _, is := errors.AsType[*allocator.DriverError](err); is {
			// The last operation called cudaFree for a part of a segment. PyTorch's behaviour is
			// then undefined.
			ops = ops[:len(ops)-1]
		} else if err != nil {
			t.Fatal(err)
		}
		if oracle == "" {
			return
		}
		path := filepath.Join(t.TempDir(), "fuzz.trace")
		writeTrace(t, path, slices.Values(ops))
		if _, _, err := differOnFile(settings, path); err != nil {
			t.Errorf("%v\n%s", err, reproduce(settings, path))
		}
	})
}

// decode makes settings and a trace from arbitrary bytes: the settings from the first three bytes,
// then an operation from each three bytes.
func decode(data []byte) (trace.Settings, []trace.Op) {
	confs := []string{
		"", "max_split_size_mb:21", "max_split_size_mb:40", "expandable_segments:True",
		"roundup_power2_divisions:4",
		"garbage_collection_threshold:0.6", "roundup_power2_divisions:[1:8,4:2,>:4]",
		"max_split_size_mb:64,max_non_split_rounding_mb:30",
		"expandable_segments:True,max_split_size_mb:40",
		"expandable_segments:True,garbage_collection_threshold:0.5",
		"max_split_size_mb:21,garbage_collection_threshold:0.4", "expandable_segments:False",
	}
	sizes := []int64{
		0, 1, 512, 4 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 9 << 20, 10 << 20, 19 << 20,
		20 << 20, 30 << 20, 64 << 20, 100 << 20, 200 << 20,
	}
	capacities := []int64{30 << 20, 64 << 20, 100 << 20, 250<<20 + 12345, 700 << 20, 2 << 30}
	byteAt := func(i int) int {
		if i < len(data) {
			return int(data[i])
		}
		return 0
	}
	s := trace.Settings{
		Conf: confs[byteAt(0)%len(confs)], Capacity: capacities[byteAt(1)%len(capacities)],
		Streams: 3, Segments: byteAt(0)&0x80 != 0,
		Placement: allocator.Placement(byteAt(2) % 3), PendingEvents: byteAt(2)&0x40 != 0,
		Overhead: int64(byteAt(2)>>4&3) * (7 << 20),
	}
	var ops []trace.Op
	var held []uint64 // all IDs so far, also those of failed allocations
	blocks := newOutcomes(s)
	for i := 3; i+2 < len(data); i += 3 {
		kind, x, y := data[i], int(data[i+1]), int(data[i+2])
		op := trace.Op{Line: len(ops) + 1}
		switch {
		case kind < 120:
			op.Kind, op.ID = trace.Malloc, uint64(i)
			op.Size = sizes[x%len(sizes)] + int64(y)<<(x>>4)
			if kind >= 90 {
				op.Stream, op.OnStream = allocator.Stream(kind%3), true
			}
			held = append(held, op.ID)
		case kind < 210 && len(held) > 0:
			at := (x<<8 | y) % len(held)
			op.Kind, op.ID = trace.Free, held[at]
			held = slices.Delete(held, at, at+1)
		case kind < 230 && len(held) > 0:
			op.Kind, op.ID, op.Stream = trace.RecordStream, held[(x<<8|y)%len(held)],
				allocator.Stream(kind%3)
			if !blocks.live(op.ID) {
				continue
			}
		case kind < 236:
			op.Kind = trace.EmptyCache
		case kind < 242:
			op.Kind = trace.Synchronize
		case kind < 245:
			op.Kind = trace.ResetPeak
		case kind < 248:
			op.Kind = trace.Snapshot
		case kind < 252:
			op.Kind, op.Fraction = trace.MemoryFraction, float64(x)/255
		default:
			op.Kind, op.Conf = trace.Configure, confs[x%len(confs)]
			if op.Conf == "" {
				continue
			}
		}
		ops = append(ops, op)
		if !blocks.do(op) {
			break // PyTorch's process would end here
		}
	}
	return s, ops
}
