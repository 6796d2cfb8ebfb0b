package markdown

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
)

// TestHostileMarkdown: no cell breaks its row, no markup in the log becomes markup of the summary,
// and nobody is notified.
func TestHostileMarkdown(t *testing.T) {
	tl, rep := timelines.Hostile()
	var out bytes.Buffer
	if err := Report(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r") ||
		strings.Contains(s, "<script") ||
		strings.Contains(s, "@user") || strings.Contains(s, "#12") {
		t.Errorf("got hostile text in the summary: %q", s)
	}
	columns := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		bars := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
		if columns == 0 {
			columns = bars
		}
		if bars != columns {
			t.Errorf("a row of %d cells in a table of %d: %s", bars-1, columns-1, line)
		}
	}
}

// TestMarkdownLimit: findings and checkpoints that do not fit are left out, and the summary says
// so.
func TestMarkdownLimit(t *testing.T) {
	tl, rep := timelines.Batch{Files: 2}.Judged()
	rep.Verdict = check.Fail
	f := tl.Files[0]
	for i := range 2000 {
		for _, v := range []check.Verdict{check.Fail, check.Pass, check.Skipped} {
			rep.Findings = append(rep.Findings, check.Finding{
				Check: check.Recovery, Verdict: v, Subject: fmt.Sprintf("Cleanup %d", i),
				Message: strings.Repeat("||", 400), Gates: true,
			})
		}
		c := f.Checkpoints[0]
		c.Name = fmt.Sprintf("Chunk %d", i)
		f.Checkpoints = append(f.Checkpoints, c)
	}
	var out bytes.Buffer
	if err := Report(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if len(got) > limit {
		t.Errorf("the summary has %d bytes", len(got))
	}
	for _, want := range []string{
		"## ❌ vramsoak: fail", "| Before Whisper Cleanup |",
		"rows more; the JSON report has them all.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
	if strings.Count(got, "<details>") != strings.Count(got, "</details>") {
		t.Error("a fenced block has no end")
	}
}
