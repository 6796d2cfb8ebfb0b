package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
)

// What a process gets, and that its two outputs keep their order.
func TestWhatAProcessGets(t *testing.T) {
	t.Parallel()
	awkward := `a b"; touch owned; $(touch owned) *.wav`
	tests := []struct {
		feed Feed
		args []string
		want string
	}{
		{FeedProcess, []string{"--in={}", "{}{}", "$HOME", "*"}, fmt.Sprintf(
			"args=%q first=2 unbuffered=1 stdin=\"\" leader=true\n", []string{"--in=" + awkward, awkward + awkward, "$HOME", "*"})},
		{FeedStdin, []string{"-"}, fmt.Sprintf(
			"args=[\"-\"] first=1 unbuffered=1 stdin=%q leader=true\n", "first\n"+awkward+"\n")},
		{FeedNone, nil, "args=[] first=1 unbuffered=1 stdin=\"\" leader=true\n"},
	}
	for _, test := range tests {
		t.Run(string(test.feed), func(t *testing.T) {
			t.Parallel()
			cfg := child(t, "print", test.feed, test.args...)
			if test.feed != FeedNone {
				cfg.Files = []Input{{Path: "first"}, {Path: awkward}}
			}
			_, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			got := string(withoutOwn(log))
			if test.feed == FeedProcess {
				got = got[strings.Index(got, "to stdout\n")+len("to stdout\n"):] // of the second file
			}
			if diff := cmp.Diff(test.want+"to stderr\nto stdout\n", got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := os.Stat("owned"); err == nil {
		t.Error("a shell was involved")
	}
}

func TestListIsInTheRunFolder(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 3, "LINES=both")
	cfg.RestartEvery = 2
	if _, _, err := runOf(t.Context(), t, cfg); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(cfg.Dir, "files.txt"))
	if err != nil || string(text) != "f3\n" {
		t.Errorf("the last list is %q, %v", text, err)
	}
}

// A line of 24 MiB passes whole, and in less memory.
func TestLongLine(t *testing.T) { // not parallel: it measures the heap
	cfg := child(t, "long", FeedNone)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > longLine/2 {
		t.Errorf("the run allocated %d MiB", allocated>>20)
	}
	text, err := os.ReadFile(cfg.logPath())
	if err != nil {
		t.Fatal(err)
	}
	want := "[GPU Memory] Before Work: Allocated: 1.00GB\n" + strings.Repeat(longPiece, longLine/len(longPiece)) +
		"\n[GPU Memory] After Work: Allocated: 1.00GB\n"
	if string(withoutOwn(text)) != want {
		t.Error("the pipeline's bytes are not what it printed")
	}
	expect(t, text, "run 0 none\nstart 1\nend 1 ok\nexit 0\ndone 1 done")
}

// The harness's lines never cut one of the pipeline's in two.
func TestLinesInHalves(t *testing.T) {
	t.Parallel()
	cfg := child(t, "halves", FeedNone)
	cfg.SampleEvery = 1 // as often as it can
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Repeat("[GPU Memory] Before Work: Allocated: 1.00GB\n", 3), string(withoutOwn(log))); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	expect(t, log, "run 0 none\nstart 1\nend 1 ok\nstart 2\nend 2 ok\nstart 3\nend 3 ok\nexit 0\ndone 3 done")
}

func TestOddBytes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"invalid UTF-8", "a\xff\xfe[GPU Memory]\x80\n\xc3\n", "a\xff\xfe[GPU Memory]\x80\n\xc3\n"},
		{"carriage returns", "10%\r20%\r[pipeline] done\r\nx\n", "10%\r20%\r[pipeline] done\r\nx\n"},
		{"unfinished last line", "one\ntwo", "one\ntwo\n"},
		{"unfinished only line", "[pipeline] file-start path=x", "[pipeline] file-start path=x\n"},
		{"nothing", "", ""},
		{"empty lines", "\n\n\n", "\n\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, log, err := runOf(t.Context(), t, child(t, "say", FeedNone, "0", test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(withoutOwn(log)); got != test.want {
				t.Errorf("found %q, expected %q", got, test.want)
			}
			if last := "reason=done\n"; !strings.HasSuffix(string(log), last) {
				t.Errorf("the log ends %q", log[max(0, len(log)-80):])
			}
		})
	}
	t.Run("NUL", func(t *testing.T) {
		t.Parallel()
		_, log, err := runOf(t.Context(), t, child(t, "nul", FeedNone))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(withoutOwn(log)); got != "a\x00b\n\x00\n" {
			t.Errorf("found %q", got)
		}
	})
}

// An unfinished last line counts: it may be the last thing that a pipeline said.
func TestUnfinishedLineIsRead(t *testing.T) {
	t.Parallel()
	_, log, err := runOf(t.Context(), t, child(t, "say", FeedNone, "0",
		"[pipeline] file-start path=x\n[pipeline] file-end path=x status=failed error=\"no audio\""))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, log, "run 0 none\nstart 1 x\nend 1 x failed no audio\nexit 0\ndone 1 done")
}

func TestClosedOutput(t *testing.T) {
	t.Parallel()
	cfg := child(t, "closed", FeedProcess, "{}")
	cfg.Files = inputs(1)
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, log, "run 1 process\nstart 1 f1\nend 1 f1 failed the process exited with code 7: before\nexit 7\ndone 1 done")
}

// However the output is cut into chunks, the same bytes come out, and every line that may hold a record comes out whole.
func TestCut(t *testing.T) {
	t.Parallel()
	text := "plain\n\n[pipeline] file-start path=a\nx\ny\n[GPU Memory] A: Allocated: 1GB\nout of memory, emory\n[pipeline] file-end\nz\nend emory"
	want := []string{
		"[pipeline] file-start path=a\n", "[GPU Memory] A: Allocated: 1GB\n", "out of memory, emory\n", "[pipeline] file-end\n",
		"end emory",
	}
	for size := 1; size <= len(text); size++ {
		var l lines
		var all string
		var looked []string
		take := func(p piece) {
			all += string(p.text)
			if p.look {
				looked = append(looked, string(p.text))
			}
		}
		for i := 0; i < len(text); i += size {
			for p := range l.cut([]byte(text[i:min(i+size, len(text))])) {
				take(p)
			}
		}
		take(l.rest())
		if all != text {
			t.Fatalf("chunks of %d: found %q", size, all)
		}
		if diff := cmp.Diff(want, looked); diff != "" {
			t.Fatalf("chunks of %d: lines to look at (-want +got):\n%s", size, diff)
		}
	}
}

// A progress bar that never ends its line is passed on in time, but for its last state, which may become a record.
func TestCutProgressBar(t *testing.T) {
	t.Parallel()
	bar := []byte(strings.Repeat("\r 10%|#         | 6/60", 1000))
	var l lines
	passed := 0
	for range 10 * lineMax / len(bar) {
		for p := range l.cut(bar) {
			passed += len(p.text)
		}
		if len(l.held) > lineMax+len(bar) {
			t.Fatalf("%d bytes are held", len(l.held))
		}
	}
	if passed < 8*lineMax {
		t.Errorf("%d bytes were passed on", passed)
	}
	var looked string
	for p := range l.cut([]byte("\r[pipeline] file-end path=x status=ok\n")) {
		if p.look {
			looked = string(p.text)
		}
	}
	if recs := parser.ParseLine([]byte(looked), parser.Position{}); len(recs) != 1 {
		t.Errorf("found %v in the line's end", recs)
	}
}

// Whatever the parser finds a record in that the harness acts on, the harness looks at.
func TestNeedles(t *testing.T) {
	t.Parallel()
	var checkpoint parser.Checkpoint
	checkpoint.Name = "x"
	checkpoint.Set(parser.Allocated, parser.Exact(1))
	for _, line := range []string{
		string(checkpoint.AppendLine(nil)),
		string(parser.FileStart{Pipeline: true, Path: "x"}.AppendLine(nil)),
		string(parser.FileEnd{Pipeline: true, Path: "x", Status: parser.StatusOK}.AppendLine(nil)),
		"RuntimeError: CUDA error: out of memory",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
		"\x1b[32m[GPU \x1b[1mMemory]\x1b[0m x: Allocated: 1.00GB",
	} {
		if len(parser.ParseLine([]byte(line), parser.Position{})) == 0 {
			t.Errorf("the parser finds nothing in %q", line)
		}
		looked := false
		for p := range pieces([]byte(line+"\n"), nil) {
			looked = p.look
		}
		if !looked {
			t.Errorf("%q is not looked at", line)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var l tail
	if got := l.lines(); got != "  (it printed nothing)" || l.cause(false, true) != "" {
		t.Errorf("found %q, %q", got, l.cause(false, true))
	}
	for i := range 5000 {
		l.add(fmt.Appendf(nil, "line %d\n", i))
	}
	l.add([]byte("10%\r20%\r\n\n\x1b[1;31mred\x1b[0m \x1b]0;title\x07hat\n\xff" + strings.Repeat("y", 300)))
	want := ""
	for i := 4983; i < 5000; i++ {
		want += fmt.Sprintf("  line %d\n", i)
	}
	want += "  20%\n  red hat\n  \uFFFD" + strings.Repeat("y", 300)
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got := l.cause(false, true); len(got) > lastLineMax+3 || !strings.HasSuffix(got, "y...") {
		t.Errorf("last line %q", got)
	}
	l.add(bytes.Repeat([]byte("z"), 100_000))
	if len(l.text) > 2*tailMax {
		t.Errorf("%d bytes are kept", len(l.text))
	}
}

// Neither the end of a checkpoint that was cut off nor what was said of another file is the reason why one failed.
func TestLastLine(t *testing.T) {
	t.Parallel()
	var c parser.Checkpoint
	c.Name = "Before Work"
	c.Set(parser.Allocated, parser.Exact(1<<20))
	checkpoint := append(c.AppendLine(nil), '\n')
	var l tail
	l.add([]byte("and they lived happily ever after in file 6\n"))
	for n := range 3 * tailMax { // the window begins at each place in a line
		l.add(checkpoint[n%len(checkpoint) : n%len(checkpoint)+1])
		if n <= 2*tailMax || n%len(checkpoint) != len(checkpoint)-1 {
			continue
		}
		if got := l.cause(false, true); got != "" {
			t.Fatalf("after %d bytes: %q", n, got)
		}
	}
	l.reset()
	l.add([]byte("of file 6\n"))
	l.begin()
	l.add(checkpoint)
	if got := l.cause(false, true); got != "" {
		t.Errorf("found %q, of another file", got)
	}
	if got := l.lines(); got != "  of file 6" {
		t.Errorf("lines %q", got)
	}
	l.add([]byte("no such model\n"))
	if got := l.cause(false, true); got != "no such model" {
		t.Errorf("found %q", got)
	}
	l.add(bytes.Repeat([]byte("x"), tailMax+10)) // a line of which only a part is kept, and no other
	if got := l.cause(false, true); len(got) != lastLineMax+3 {
		t.Errorf("found %q", got)
	}
}
