package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// hostile is what a name in a log may hold: NUL, an escape sequence, the end of CDATA, invalid UTF-8, marks that reorder
// a line, and what the formats use for themselves.
const hostile = "a\x00b\x1b[31m]]>\xff<script>&\"'|`*_[x](y)\u202e\r\nc\t@user #12\uFFFE"

// hostileCase has hostile text wherever text comes from a log.
func hostileCase() (*parser.Timeline, *check.Report) {
	tl := sample{files: 3, keepFrom: 2}.timeline()
	for i := range tl.Files {
		f := tl.Files[i]
		f.Path, f.Error, f.Status = hostile, hostile, parser.Status(hostile)
		for j := range f.Checkpoints {
			f.Checkpoints[j].Name += hostile
		}
		for j := range f.Stages {
			f.Stages[j].Name += hostile
		}
		for j := range f.Cleanups {
			f.Cleanups[j].Name += hostile
		}
	}
	rep := check.Of(tl, check.DefaultPolicy())
	for i := range rep.Findings {
		f := &rep.Findings[i]
		f.Subject, f.Message = f.Subject+hostile, f.Message+hostile
		f.At = &parser.Position{Path: hostile, Line: 3}
	}
	return tl, rep
}

func TestHostileXML(t *testing.T) {
	tl, rep := hostileCase()
	var out bytes.Buffer
	if err := JUnit(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	for _, format := range PlotFormats {
		var out bytes.Buffer
		if err := Plot(&out, format, tl, rep, PlotOptions{Width: 800, Height: 450}); err != nil {
			t.Fatal(err)
		}
		if format == "svg" {
			wellFormed(t, out.Bytes())
		}
	}
}

// wellFormed demands valid UTF-8 of XML's own characters, and elements that close.
func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	if !utf8.Valid(data) {
		t.Error("not UTF-8")
	}
	for _, r := range string(data) {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			t.Errorf("%U is no character of XML", r)
		}
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostileText(t *testing.T) {
	tl, rep := hostileCase()
	ours := regexp.MustCompile("\x1b\\[(0|2|31|32|33)m")
	for _, opts := range []TextOptions{{}, {Terminal: true, Width: 80}, {Terminal: true, Width: 200, Color: true}} {
		var out bytes.Buffer
		if err := Text(&out, tl, rep, opts); err != nil {
			t.Fatal(err)
		}
		if s := ours.ReplaceAllString(out.String(), ""); !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\t\u202e") {
			t.Errorf("control characters got through to %+v: %q", opts, s)
		}
	}
}

// TestHostileMarkdown demands that no cell breaks its row, no markup of the log's becomes the summary's, and nobody is
// notified.
func TestHostileMarkdown(t *testing.T) {
	tl, rep := hostileCase()
	var out bytes.Buffer
	if err := Markdown(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r") || strings.Contains(s, "<script") ||
		strings.Contains(s, "@user") || strings.Contains(s, "#12") {
		t.Errorf("got through: %q", s)
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

// TestMarkdownLimit has more findings and checkpoints than fit.
func TestMarkdownLimit(t *testing.T) {
	tl, rep := sample{files: 2}.judged()
	rep.Verdict = check.Fail
	f := tl.Files[0]
	for i := range 2000 {
		for _, v := range []check.Verdict{check.Fail, check.Pass, check.Skipped} {
			rep.Findings = append(rep.Findings, check.Finding{
				Check: check.Recovery, Verdict: v, Subject: fmt.Sprintf("Cleanup %d", i), Message: strings.Repeat("||", 400), Gates: true,
			})
		}
		c := f.Checkpoints[0]
		c.Name = fmt.Sprintf("Chunk %d", i)
		f.Checkpoints = append(f.Checkpoints, c)
	}
	var out bytes.Buffer
	if err := Markdown(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if len(got) > MarkdownLimit {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{"## ❌ vramsoak: fail", "| Before Whisper Cleanup |", "rows more; the JSON report has them all."} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Count(got, "<details>") != strings.Count(got, "</details>") {
		t.Error("a block stays open")
	}
}
