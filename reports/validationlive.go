package reports

import "fmt"

// A LiveFailure is a file of the real command that did not end well, or in which memory ran out.
type LiveFailure struct {
	File        int      `json:"file"` // from 1
	Path        string   `json:"path"`
	Status      string   `json:"status"` // as in the log's file-end: "failed", "crashed", "timeout", "oom"; "ok" where it went on
	OutOfMemory bool     `json:"out_of_memory,omitempty"`
	Says        []string `json:"says"` // the last lines that the pipeline printed in it
}

// liveFailures names the files of the real command that failed, with their last lines.
func (t *textWriter) liveFailures(all []LiveFailure) {
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
		t.wrap(fmt.Sprintf("real command, file %d, %s: %s%s", f.File, clean(f.Path), what, says), "  ")
		for _, line := range f.Says {
			t.under(clean(line))
		}
	}
}
