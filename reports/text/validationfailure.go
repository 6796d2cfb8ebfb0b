package text

import (
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/parser/record"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// liveFailures writes the files in which the real command failed, with the last lines that it
// printed.
func (t *writer) liveFailures(all []validation.LiveFailure) {
	for _, f := range all {
		what := map[string]string{
			"ok": "went on after an error", "failed": "failed", "crashed": "crashed",
			"timeout": "took longer than its timeout",
		}[f.Status]
		if what == "" {
			what = "did not end"
		}
		if f.OutOfMemory {
			what = "ran out of memory"
		}
		t.WriteByte('\n')
		says := "; it printed nothing"
		if len(f.Says) > 0 {
			says = "; its last lines:"
		}
		t.wrap(fmt.Sprintf("real command, file %d, %s: %s%s", f.File, sink.Line(f.Path), what,
			says), "  ")
		for _, line := range f.Says {
			t.continuation(sink.Line(line))
		}
	}
}

// firstFailure writes the first allocation that failed, and why.
func (t *writer) firstFailure(v *validation.Report) {
	r := v.Failure
	if r == nil {
		return
	}
	t.WriteByte('\n')
	where := "before the first file"
	if r.File > 0 {
		where = "file " + wording.Count(r.File)
	}
	for _, more := range []string{r.Stage, r.What} {
		if more != "" {
			where += ", " + sink.Line(more)
		}
	}
	text := "Fails first: "
	if r.Recovered {
		text = "Runs out of memory, and recovers: "
	}
	text += where
	if r.Requested > 0 {
		text += fmt.Sprintf(": %s asked for, %s free in sum, the largest free block is %s",
			record.FormatBytes(r.Requested),
			record.FormatBytes(r.FreeInSum), record.FormatBytes(r.LargestFree))
	}
	t.wrap(text, "  ")
	defer t.kept(r.Kept)
	switch {
	case r.Requested == 0:
		if r.Message != "" {
			t.continuation(sink.Line(r.Message))
		}
	case r.Fragmentation:
		most := ""
		if holdsHalf(r.Parts) {
			most = holding(r.Parts)
		}
		t.continuation("This is fragmentation: enough is free, but not in one piece" + most + "." +
			map[bool]string{true: " To see it:"}[r.Picture != ""])
		if r.Picture != "" {
			command := "  " + sink.Line(r.Picture)
			if twwidth.Width(command) > t.Width {
				// a shell continues a line after a pipe
				command = strings.Replace(command, "| ", "|\n    ", 1)
			}
			t.WriteString(command + "\n")
		}
	case r.Missing == 0:
		t.continuation("The card is full" + holding(r.Parts))
	default:
		t.continuation(fmt.Sprintf("Too little is free: %s are missing",
			record.FormatBytes(r.Missing)) + holding(r.Parts))
	}
}

// kept writes how much memory was kept after use when an allocation failed.
func (t *writer) kept(parts []validation.Part) {
	if len(parts) == 0 {
		return
	}
	var all []string
	for _, p := range largestFirst(parts) {
		all = append(all, sink.Line(p.What)+" "+record.FormatBytes(p.Bytes))
	}
	t.continuation("Kept after use by then: " + strings.Join(all, ", "))
}

// holdsHalf reports whether one part holds more than half of the memory in use. It may then be what
// the memory runs out for, even if the last straw is fragmentation.
func holdsHalf(parts []validation.Part) bool {
	var sum, most int64
	for _, p := range parts {
		sum, most = sum+p.Bytes, max(most, p.Bytes)
	}
	return 2*most > sum
}

// holding returns what holds most memory, as a phrase: "; what holds most: data 13.0 GiB".
func holding(parts []validation.Part) string {
	if len(parts) == 0 {
		return ""
	}
	most := largestFirst(parts)[0]
	return fmt.Sprintf("; what holds most: %s %s", sink.Line(most.What),
		record.FormatBytes(most.Bytes))
}
