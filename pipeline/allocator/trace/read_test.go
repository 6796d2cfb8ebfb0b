package trace_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

func TestRead(t *testing.T) {
	const text = "# what a program did\n" +
		"a 1 512\n" +
		"\n" +
		"  a 18446744073709551615 1024 3 # on a stream\r\n" +
		"a 99999999999999999999999 7\n" +
		"s 1 4\n" +
		"f 007\n" +
		"F 0.50\n" +
		"c max_split_size_mb:64, expandable_segments:True \n" +
		"e\ny\nr\n" +
		"S" // without a line end
	want := []trace.Op{
		{Kind: trace.Malloc, Line: 2, ID: 1, Size: 512},
		{
			Kind: trace.Malloc, Line: 4, ID: 1<<64 - 1, Size: 1024, Stream: 3, OnStream: true,
			Text: "  a 18446744073709551615 1024 3 # on a stream\r",
		},
		{Kind: trace.Malloc, Line: 5, ID: 1<<64 - 1, Size: 7, Text: "a 99999999999999999999999 7"},
		{Kind: trace.RecordStream, Line: 6, ID: 1, Stream: 4},
		{Kind: trace.Free, Line: 7, ID: 7, Text: "f 007"},
		{Kind: trace.MemoryFraction, Line: 8, Fraction: 0.5, Text: "F 0.50"},
		{Kind: trace.Configure, Line: 9, Conf: "max_split_size_mb:64, expandable_segments:True "},
		{Kind: trace.EmptyCache, Line: 10},
		{Kind: trace.Synchronize, Line: 11},
		{Kind: trace.ResetPeak, Line: 12},
		{Kind: trace.Snapshot, Line: 13},
	}
	var got []trace.Op
	for op, err := range trace.Read(iotest.OneByteReader(strings.NewReader(text)), "run.trace") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, op)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadLongLines(t *testing.T) {
	conf := strings.Repeat("max_split_size_mb:64,", 40_000)
	text := "a 1 512 #" + strings.Repeat(" so long", 100_000) + "\n  #" + strings.Repeat(" longer",
		1_000_000) + "\nc " + conf + "\nf 1\n"
	var got []trace.Op
	for op, err := range trace.Read(strings.NewReader(text), "run.trace") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, op)
	}
	if len(got) != 3 || got[0].Size != 512 || got[1].Conf != conf || got[2].ID != 1 ||
		got[2].Line != 4 {
		t.Errorf("found %d operations; lines of up to 1 MiB are read, and comments of any length",
			len(got))
	}
	endless := iotest.ErrReader(errors.New("read on and on"))
	for _, err := range trace.Read(io.MultiReader(strings.NewReader("f 1\n"+strings.Repeat("\x00",
		2<<20)), endless), "run.trace") {
		if err != nil && err.Error() != "run.trace:2:1048577: expected the end of an operation, "+
			"found more than 1 MiB" {
			t.Error(err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a 1 512\n" +
			"b 1": `run.trace:2:1: expected an operation (a, f, s, y, e, r, F, c or S), found "b"`,
		"  alloc 1":                `run.trace:1:4: expected the ID of a block, found "lloc"`,
		"a":                        `run.trace:1:2: expected the ID of a block, found the end of the line`,
		"a # 1":                    `run.trace:1:3: expected the ID of a block, found the end of the line`,
		"a 1":                      `run.trace:1:4: expected a size in bytes, found the end of the line`,
		"a 1 -5":                   `run.trace:1:5: expected a size in bytes, found "-5"`,
		"a 1 4MiB":                 `run.trace:1:5: expected a size in bytes, found "4MiB"`,
		"a 1 512 1 7":              `run.trace:1:11: expected the end of the line, found "7"`,
		"a 1 512 2000000":          `run.trace:1:9: expected a stream below 65536, found "2000000"`,
		"a 1 9223372036854775808":  `run.trace:1:5: expected a size below 2^63 bytes, found "9223372036854775808"`,
		"a 1 99999999999999999999": `run.trace:1:5: expected a size below 2^63 bytes, found "99999999999999999999"`,
		"f x":                      `run.trace:1:3: expected the ID of a block, found "x"`,
		"s 1":                      `run.trace:1:4: expected a stream, from 0 on, found the end of the line`,
		"F half":                   `run.trace:1:3: expected a fraction, such as 0.8, found "half"`,
		"e 1":                      `run.trace:1:3: expected the end of the line, found "1"`,
	} {
		var found error
		for _, err := range trace.Read(strings.NewReader(text), "run.trace") {
			found = err
		}
		if found == nil || found.Error() != want {
			t.Errorf("%q:\nwant %s\ngot  %v", text, want, found)
		}
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	var found error
	for _, err := range trace.Read(iotest.ErrReader(broken), "run.trace") {
		found = err
	}
	if !errors.Is(found, broken) {
		t.Errorf("expected %v, found %v", broken, found)
	}
}

// TestReplayErrors: if the allocator or the replay refuses an operation, the error names the line.
func TestReplayErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a 1 512\na 1 512":      `run.trace:2:1: expected the ID of no live block, found "a 1 512"`,
		"a 1 512\nf 1\n\ns 1 2": `run.trace:4:1: expected the ID of a live block, found "s 1 2"`,
		"c max_split_size_mb:1": `run.trace:1: c max_split_size_mb:1: `,
		"a 1 512\nF 1.5":        `run.trace:2: F 1.5: `,
	} {
		var out strings.Builder
		device := allocator.NewDevice(allocator.DeviceConfig{Total: 1 << 30})
		totals, err := trace.Replay(&out, trace.Read(strings.NewReader(text), "run.trace"), device,
			allocator.New(device, allocator.Config{}),
			trace.Options{Name: "run.trace"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\nwant %s\ngot  %v", text, want, err)
		}
		if lines := strings.Count(out.String(), "\n"); lines != totals.Events-1 {
			t.Errorf("%q: expected the lines of the %d operations before, found %d", text,
				totals.Events-1, lines)
		}
	}
}
