package reports

import (
	"fmt"

	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
)

// liveFailures names the files of the real command that failed, with their last lines.
func (t *textWriter) liveFailures(all []validation.LiveFailure) {
	for _, f := range all {
		what := map[string]string{
			"ok": "went on after an error", "failed": "failed", "crashed": "crashed", "timeout": "took longer than it may",
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
		t.wrap(fmt.Sprintf("real command, file %d, %s: %s%s", f.File, sink.Line(f.Path), what, says), "  ")
		for _, line := range f.Says {
			t.under(sink.Line(line))
		}
	}
}
