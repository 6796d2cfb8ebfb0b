package parser_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

const (
	ownRun  = "[vramsoak] run-start files=1\n"
	ownExit = "[vramsoak] exit pid=777 code=0\n"
	quoted  = "[vramsoak] quote\n"
	crashed = "[vramsoak] file-end time=2026-11-20T02:00:00.000Z index=1 path=a status=crashed\n"
)

// TestQuoted lists which lines are the harness's own and which ones the pipeline only quotes.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  string
		want string
	}{
		"own":            {ownRun + ownExit, "1 own, 2 own"},
		"quoted":         {ownRun + quoted + ownExit + ownExit, "1 own, 3 quoted, 4 own"},
		"a quoted quote": {ownRun + quoted + quoted + ownExit, "1 own, 3 quoted, 4 own"},
		"two quoted quotes": {
			ownRun + quoted + quoted + quoted + quoted + ownExit,
			"1 own, 3 quoted, 5 quoted, 6 own",
		},
		"quotes, then another line": {
			ownRun + quoted + quoted + quoted + ownExit,
			"1 own, 3 quoted, 5 quoted",
		},
		"a word on the harness": {ownRun + quoted + "see [vramsoak] exit\n" + ownExit, "1 own, 4 own"},
		"a quote at the end":    {ownRun + quoted, "1 own"},
		"an unknown line":       {ownRun + quoted + "[vramsoak] hello\n", "1 own, 3 quoted"},
		"an unknown line of the run's own": {
			ownRun + "[vramsoak] hello\n", "1 own, 2 own",
		},
		"drawn over a line": {ownRun + "50%\r" + ownExit, "1 own, 2 quoted"},
		"lines that end in CRLF": {
			strings.ReplaceAll(ownRun+quoted+ownExit+ownExit, "\n", "\r\n"),
			"1 own, 3 quoted, 4 own",
		},
		"coloured":        {ownRun + "\x1b[32m" + ownExit, "1 own, 2 quoted"},
		"coloured within": {ownRun + "[vram\x1b[0msoak] exit pid=1 code=0\n", "1 own, 2 quoted"},
		"coloured, a file that crashed": {
			ownRun + "\x1b[31m" + crashed + ownExit, "1 own, 2 unreadable, 3 own",
		},
		"coloured and quoted": {
			ownRun + quoted + "\x1b[31m" + crashed + ownExit,
			"1 own, 3 quoted, 4 own",
		},
		"coloured within, and own lines before": {
			ownRun + "[\x1b[31mvramsoak\x1b[0m]" + crashed[10:] + ownExit, "1 own, 2 quoted, 3 own",
		},
		"colours within the line only": {
			"[\x1b[31mvramsoak\x1b[0m]" + crashed[10:] + ownExit, "1 unreadable, 2 own",
		},
		"drawn over a line and quoted": {
			ownRun + quoted + "50%\r" + crashed + ownExit,
			"1 own, 3 quoted, 4 own",
		},
		"in quotes, in program source": {
			ownRun + `"[vramsoak] file-end path=a status=failed",` + "\n",
			"1 own",
		},
		"in quotes, in a sentence": {ownRun + `found "` + crashed, "1 own"},
		"behind a logger":          {ownRun + "INFO " + ownExit, "1 own"},
		"behind a hole":            {ownRun + "\x00\x00" + ownExit, "1 own, 2 own"},
		"painted on a screen": {ownRun +
			"\x1b[2J\x1b[1;1H[vram\x1b[1;6Hsoak] exit pid=1 code=0\x1b[5;1H\nx\n", "1 own"},
		"in a Docker log": {
			`{"log":"[vramsoak] run-start files=1\n"}` + "\n" + `{"log":"[vramsoak] quote\n"}` + "\n" +
				`{"log":"[vramsoak] exit pid=1 code=0\n"}` + "\n" + `{"log":"[vramsoak] exit pid=1 code=0\n"}` +
				"\n",
			"1 own, 3 quoted, 4 own",
		},
		"in a notebook": {
			`{"cells":[{"cell_type":"code","source":[],"outputs":[{"output_type":"stream","text":["[vramsoak] exit pid=1 code=0\n"]}]}],` +
				`"nbformat":4}`,
			"1 quoted",
		},
		"in a long line": {
			ownRun + strings.Repeat("x", 100_000) + "\r" + ownExit,
			"1 own, 2 quoted",
		},
		"behind many blanks": {ownRun + strings.Repeat(" ", 100_000) + ownExit, "1 own"},
		"a quote before a long line": {ownRun + quoted + "[vramsoak] exit" +
			strings.Repeat(" ", 100_000) + ownExit + ownExit, "1 own, 3 quoted, 4 own"},
		"a quote that a machine tore": {ownRun + "[vramsoak] quot\n" + ownExit, "1 own, 2 own, 3 own"},
	} {
		var got []string
		for rec := range harnessLines(t, c.log) {
			kind := "own"
			switch bad := rec.(type) {
			case record.Quoted:
				kind = "quoted"
			case record.SyntaxError:
				if strings.Contains(bad.Advice, "was changed") {
					kind = "unreadable"
				}
			}
			got = append(got, fmt.Sprintf("%d %s", rec.At().Line, kind))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// harnessLines yields the records of the harness's lines, quoted or not.
func harnessLines(t *testing.T, log string) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		for rec, err := range parser.Read(strings.NewReader(log), "run.log") {
			if err != nil {
				t.Error(err)
			} else if rec.Head().Dialect == "vramsoak" && !yield(rec) {
				return
			}
		}
	}
}

// TestManyQuotes: the reader recognises any number of quote lines in a row, even if they fill
// several windows.
func TestManyQuotes(t *testing.T) {
	t.Parallel()
	const pairs = 50_000
	own, quotes, last := 0, 0, 0
	for rec := range harnessLines(t, ownRun+strings.Repeat(quoted, 2*pairs+1)+ownExit+ownExit) {
		if _, is := rec.(record.Quoted); is {
			quotes++
		} else {
			own, last = own+1, rec.At().Line
		}
	}
	if own != 2 || quotes != pairs+1 || last != 2*pairs+4 {
		t.Errorf("got %d harness lines, the last in line %d, and %d quotes", own, last, quotes)
	}
}

// TestQuotedHasNoEffect: a quoted line of the pipeline that looks like a line of the harness
// changes nothing in the timeline, neither the end of a file or a run nor the memory in use on a
// device.
func TestQuotedHasNoEffect(t *testing.T) {
	t.Parallel()
	quote := func(lines ...string) string { return quoted + strings.Join(lines, "\n"+quoted) + "\n" }
	log := "[vramsoak] run-start files=2\n[vramsoak] file-start index=1 path=a\n" +
		quote(
			"[vramsoak] file-end index=1 path=a status=ok",
			"[vramsoak] run-start files=1 policy=x",
			"[vramsoak] file-start index=2 path=b",
			"[vramsoak] file-end index=2 path=b status=ok",
			"[vramsoak] sample pid=1 device=3 used=1 total=2 source=process rss=1",
			"[vramsoak] orphan pid=1 command=x",
			"[vramsoak] idle device=0 used=1 total=1 phase=before",
			"[vramsoak] exit pid=1 code=0",
			"[vramsoak] resume index=1 cut=0",
			"[vramsoak] torn",
			"[vramsoak] run-end files=2 reason=done",
		) +
		"[vramsoak] file-end index=1 path=a status=failed\n[vramsoak] exit pid=2 code=1\n"
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Runs) != 1 || tl.Runs[0].End != nil || len(tl.Runs[0].Resumes) > 0 ||
		len(tl.Files) != 1 ||
		tl.Files[0].Status != record.StatusFailed ||
		len(tl.Exits) != 1 ||
		len(tl.Bad)+len(tl.Samples)+len(tl.Orphans)+len(tl.Idles) > 0 {
		t.Errorf("quoted lines changed the timeline: %+v", tl)
	}
	if tl.Quoted != 11 || tl.FirstQuoted != (record.Position{Path: "run.log", Line: 4}) {
		t.Errorf("got %d quoted lines, the first at %v", tl.Quoted, tl.FirstQuoted)
	}
}

// TestHarnessLineWithoutARun: in a log without a run-start line, the program itself may have
// printed a line with the harness's prefix. Such a line has no effect on a file. But if it gives
// a file's index and path, as the harness does, it counts, because the run-start line may have
// been cut off.
func TestHarnessLineWithoutARun(t *testing.T) {
	t.Parallel()
	const failure = "[pipeline] file-start path=a\nRuntimeError: CUDA error: out of memory\n"
	for line, want := range map[string]record.Status{
		"[vramsoak] file-end status=ok":                         record.StatusUnknown,
		"[vramsoak] file-end index=1 path=a status=ok":          record.StatusOK,
		"[vramsoak] file-start\n[vramsoak] file-end status=ok":  record.StatusUnknown,
		"[vramsoak] run-start files=1\n[vramsoak] file-start\n": record.StatusUnknown,
	} {
		tl, err := parser.Build(parser.Read(strings.NewReader(failure+line+"\n"), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		if got := tl.Files[0].Status; got != want {
			t.Errorf("%q: status %q, expected %q", line, got, want)
		}
	}
}

// TestQuotedLineIsThePipelines: a reading or a failed allocation in a quoted line counts, because
// the pipeline's own logger may print the prefix "[vramsoak]". A file-end line that repeats the
// message of a failed allocation is not a second failure.
func TestQuotedLineIsThePipelines(t *testing.T) {
	t.Parallel()
	const failure = "CUDA out of memory. Tried to allocate 2.00 GiB"
	log := ownRun + "[vramsoak] file-start index=1 path=a\n" +
		quoted + "[vramsoak] RuntimeError: " + failure + "\n" +
		quoted + "[vramsoak] [GPU Memory] After Work: Allocated: 1.00GB\n" +
		quoted + quoted +
		"[vramsoak] file-end index=1 path=a status=oom error=\"" + failure + "\"\n" +
		quoted + "[vramsoak] file-end index=1 path=a status=oom error=\"" + failure + "\"\n"
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	f := tl.Files[0]
	if len(f.OOMs) != 1 || f.OOMs[0].Pos.Line != 4 || len(f.Checkpoints) != 1 || tl.Quoted != 4 ||
		len(tl.Bad) > 0 {
		t.Errorf("got %d failures, %d checkpoints, %d quoted lines, unreadable %v", len(f.OOMs),
			len(f.Checkpoints), tl.Quoted, tl.Bad)
	}
}
