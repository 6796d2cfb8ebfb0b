package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vramsoak/parser/segments"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// TestRefuses reads files that cannot be snapshots. Reading stops with an error that names the
// byte, and nothing in the file is executed.
func TestRefuses(t *testing.T) {
	const proto = "\x80\x04"
	segments := func(item string) string { return proto + "}\x8c\x08segments]" + item + "as." }
	tests := []struct{ name, data, want string }{
		{
			"a call", proto + "\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.",
			"x.pickle: byte 17: expected plain data: dicts, lists, tuples, strings, numbers, booleans, None, found the instruction " +
				"STACK_GLOBAL, which names a function or a class; it was not run; " +
				"do not load the file in Python unless you know who made it",
		},
		{
			"a call of protocol 2", "\x80\x02cposix\nsystem\n(X\x02\x00\x00\x00idtR.",
			"byte 2: expected plain data",
		},
		{"a reduction", proto + ")R.", "byte 3: expected plain data: dicts, lists, tuples, strings, numbers, booleans, None, found the instruction REDUCE"},
		{"an object's state", proto + "}}b.", "byte 4: expected plain data"},
		{"a persistent id", proto + "Px\n.", "found the instruction PERSID"},
		{"an extension", proto + "\x82\x01.", "found the instruction EXT1"},
		{"bytes", proto + "C\x01x.", "found the instruction SHORT_BINBYTES"},
		{"a set", proto + "\x8f.", "found the instruction EMPTY_SET"},
		{"a value twice", proto + "]2.", "found the instruction DUP"},
		{
			"an unknown instruction", proto + "\xff.",
			"byte 2: expected an instruction of a pickle, found byte 0xff; give the whole file",
		},
		{"nothing", "", "byte 0: expected a pickle of protocol 2 to 5, found a file of 0 bytes"},
		{"a log", "[GPU Memory] After", `byte 0: expected a pickle of protocol 2 to 5, found "[GPU Mem"; give what torch.cuda.memory._dump_snapshot`},
		{"a checkpoint", "PK\x03\x04abc", "found a zip archive, as torch.save writes; give what"},
		{"protocol 6", "\x80\x06].", "found protocol 6"},
		{"no end", proto + "]", "byte 3: expected the next instruction; the last is STOP (1 bytes), found the end of the file at byte 3; give the whole file"},
		{
			"cut off in a string", proto + "\x8c\xffabc",
			"byte 2: expected a string (255 bytes), found the end of the file at byte 7",
		},
		{
			"a string of 2^63 bytes", proto + "\x8d\x00\x00\x00\x00\x00\x00\x00\x80abc",
			"byte 2: expected a string (9223372036854775808 bytes)",
		},
		{
			"an integer of 255 bytes", proto + "\x8a\xff",
			"byte 2: expected a number (255 bytes), found the end of the file at byte 4",
		},
		{
			"an integer of 4 GiB", proto + "\x8b\xff\xff\xff\xff",
			"byte 2: expected a number (4294967295 bytes) in a file of at most 2 GiB, found a longer one",
		},
		{
			"a frame that is longer", proto + "\x95\x09\x00\x00\x00\x00\x00\x00\x00].",
			"byte 2: expected a frame of 9 bytes, found 2 until the end of the file",
		},
		{
			"a memo with gaps", proto + "]r\xff\xff\xff\xff.",
			"byte 3: expected a place in the memo of at most 0, found 4294967295",
		},
		{
			"a memo that is empty", proto + "h\x00.",
			"byte 2: expected a place in the memo below 0, found 0",
		},
		{"no value to memoize", proto + "\x94.", "byte 2: expected a value to keep, found none"},
		{"items without a list", proto + "(e.", "byte 3: expected a list to add to, found another value"},
		{"items of a dict", proto + "}(Ke.", "expected"},
		{"a key alone", proto + "}(K\x01u.", "byte 6: expected as many values as keys, found 1 of both"},
		{"no mark", proto + "]e.", "byte 3: expected a MARK before this instruction, found none"},
		{
			"an item that is a mark", proto + "](a.",
			"byte 4: expected 1 values on the stack, found a MARK",
		},
		{"two objects", proto + "]].", "byte 4: expected one object at STOP, found 2"},
		{
			"more after the end", proto + "].]",
			"byte 4: expected the end of the file after STOP, found 1 bytes more",
		},
		{
			"a number alone", proto + "K\x01.",
			"byte 0: expected a snapshot: a dict, or its segments as a list, found an integer",
		},
		{
			"a dict of another kind", proto + "}.",
			`byte 2: expected a snapshot with "segments", found none; if PyTorch wrote it, its form is new`,
		},
		{
			"segments that are no dicts", segments("K\x01"),
			"expected a segment as a dict, found an integer",
		},
		{"an empty segment", segments("}"), `byte 14: expected a segment with "address", found none`},
		{"a list in itself", proto + "]\x94h\x00a.", "expected a segment as a dict, found a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snap, err := Read(strings.NewReader(tt.data), "x.pickle")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v\n got %v\nwant %s", snap, err, tt.want)
			}
		})
	}
}

// TestSharedIsRefused: a file of 4n bytes can hold n references to one segment that has n
// references to one block. The reader must refuse it, or it would build n² blocks.
func TestSharedIsRefused(t *testing.T) {
	// The block becomes entry 0 of the memo.
	const block = "}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x08inactiveu\x94"
	const segment = "}(\x8c\x07addressK\x00\x8c\x0atotal_sizeM\x00\x04\x8c\x06blocks](" + block +
		"%seu\x94"
	for name, tt := range map[string]struct{ blocks, more, want string }{
		"blocks": {
			"h\x00", "",
			"byte 42: expected a block that is in one place, found one that two places refer to",
		},
		"segments": {
			"}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x08inactiveu", "h\x01",
			"byte 4: expected a segment that is in one place",
		},
	} {
		data := "\x80\x04](" + fmt.Sprintf(segment, tt.blocks) + tt.more + "e."
		_, err := Read(strings.NewReader(data), "x")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, expected %s", name, err, tt.want)
		}
	}
}

// TestMemory runs pickles that are made to use much memory. The memory that the pickle machine
// counts must be what it really holds, and at most a multiple of the bytes read.
func TestMemory(t *testing.T) { // not parallel: it measures the heap
	const n = 1 << 20
	repeat := func(head, item, tail string) []byte {
		return []byte("\x80\x04" + head + strings.Repeat(item, n/len(item)) + tail)
	}
	recorded, err := os.ReadFile(filepath.Join(recordings, "jaspersolt-eor_nn-snapshot.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"lists in lists": repeat("", "](", ""),
		"lists":          repeat("](", "]", "e."),
		"kept lists":     repeat("](", "]\x94", "e."),
		"the same list":  repeat("]\x94(", "h\x00", "e."),
		"kept":           repeat("]", "\x94", "."),
		"None":           repeat("](", "N", "e."),
		"tuples of one":  repeat("N", "\x85", "."),
		"marks":          repeat("", "(", ""),
		"frames of dicts": repeat(
			"](}(\x8c\x07addressK\x00\x8c\x0atotal_sizeK\x00\x8c\x06blocks]\x8c\x06frames](", "}", "eue."),
		"recorded":      recorded,
		"anything":      anything(1, n),
		"anything else": anything(2, n),
	} {
		live := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := live()
		in, err := open(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{path: name, input: in}
		snap, err := m.snapshot()
		held := live() - before
		t.Logf("%-16s %.1f bytes for each of %d; %v", name, float64(held)/float64(m.pos), m.pos, err)
		// Since the last check, 64 instructions ago at most, slices may have grown by a quarter.
		if says := m.memory(); held > says+says/8+1<<20 ||
			says > (memoryFree+MemoryPerByte*int64(m.pos))*5/4 {
			t.Errorf("%s: holds %d bytes, counts %d, after reading %d", name, held, says,
				m.pos)
		}
		runtime.KeepAlive(m)
		runtime.KeepAlive(snap)
		runtime.KeepAlive(data)
	}
}

// anything returns a pickle of n random instructions that the machine accepts.
func anything(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	b := []byte("\x80\x04")
	var stack []kind
	memo := 0
	push := func(k kind, text string) { b, stack = append(b, text...), append(stack, k) }
	top := func(depth int) kind {
		if len(stack) < depth {
			return mark
		}
		return stack[len(stack)-depth]
	}
	for len(b) < n {
		switch random.IntN(12) {
		case 0, 1:
			push(list, "]")
		case 2, 3:
			push(dict, "}")
		case 4:
			push(none, "N")
		case 5:
			push(integer, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")
		case 6:
			push(text, "\x8c\x06frames")
		case 7:
			if top(1) != mark {
				b, memo = append(b, '\x94'), memo+1
			}
		case 8:
			if memo > 0 {
				push(none, "h\x00")
			}
		case 9, 10: // adds an item to a list
			if top(1) != mark && top(2) == list {
				b, stack = append(b, 'a'), stack[:len(stack)-1]
			}
		case 11: // adds an item to a dict
			if top(1) != mark && top(2) != mark && top(3) == dict {
				b, stack = append(b, 's'), stack[:len(stack)-2]
			}
		}
	}
	return b
}

// TestCompressed: a snapshot compressed with gzip or zstd is read like the snapshot itself.
func TestCompressed(t *testing.T) {
	plain := pickled(t, segmentsOf(1))
	var zipped, zst bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	zs, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{gz, zs} {
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, data := range [][]byte{plain, zipped.Bytes(), zst.Bytes()} {
		snap, err := Read(bytes.NewReader(data), "x")
		if err != nil || len(snap.Devices) != 1 || len(snap.Devices[0].Segments) != 1 {
			t.Errorf("%+v, %v", snap, err)
		}
	}
	if _, err := Read(bytes.NewReader(zipped.Bytes()[:zipped.Len()/2]), "x"); err == nil {
		t.Error("got no error for half of a gzip file")
	}
}

// TestUnpacksToTooMuch: 200 MiB of zeros in 200 KB are refused before they are all unpacked.
func TestUnpacksToTooMuch(t *testing.T) {
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	if _, err := io.CopyN(gz, zeros{}, 200<<20); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	size := zipped.Len()
	_, err := Read(&zipped, "zeros.gz")
	if err == nil || !strings.Contains(err.Error(), "at most 100 times its size") {
		t.Errorf("got %v", err)
	}
	if left := zipped.Len(); left < size/3 {
		t.Errorf("read all but %d of %d bytes, want an early stop", left, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// segmentsOf returns a list of n segments in the form of torch.cuda.memory_snapshot().
func segmentsOf(n int) []any {
	var out []any
	for i := range n {
		out = append(out, dictOf{
			"address", 0x7f0000000000 + i<<21, "total_size", 2 << 20, "segment_type", "small",
			"blocks",
			[]any{dictOf{"size", 2 << 20, "state", "inactive"}},
		})
	}
	return out
}

// FuzzRead: reading arbitrary bytes gives a snapshot, or an error that names a byte of the file.
// All methods of such a snapshot work.
func FuzzRead(f *testing.F) {
	f.Add(pickled(f, segmentsOf(3)))
	f.Add(pickled(f, workload()))
	f.Add([]byte("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."))
	if small, err := os.ReadFile(filepath.Join(recordings,
		"silmont2000-assignment2-systems-mem-snapshot.pickle")); err == nil {
		f.Add(small)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &machine{path: "x", data: data}
		snap, err := m.snapshot()
		if bad, ok := errors.AsType[*FormatError](err); ok &&
			(bad.Offset < 0 || bad.Offset > int64(len(data))) {
			t.Errorf("%v: the file has %d bytes", err, len(data))
		}
		if err != nil {
			return
		}
		for i := range snap.Devices {
			d := &snap.Devices[i]
			a := d.Analyze(snap.Annotations)
			if a.Totals.Active+a.Free.Sum != a.Totals.Reserved {
				t.Errorf("active %d, free %d, reserved %d", a.Totals.Active, a.Free.Sum, a.Totals.Reserved)
			}
			if err := d.WriteTrace(&bytes.Buffer{}); err != nil {
				t.Error(err)
			}
			for m := range d.Maps(a.Trace) {
				segments.AppendLine(&m, nil)
			}
			if len(d.Events) > 0 {
				d.Holding(len(d.Events) - 1)
			}
		}
	})
}
