package cilog_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
	"vramsoak/parser/record"
	"vramsoak/reports/cilog"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        cilog.System
	}{
		{"GITHUB_ACTIONS", "true", cilog.GitHub},
		{"GITLAB_CI", "true", cilog.GitLab},
		{"GITHUB_ACTIONS", "", ""},
		{"GITHUB_ACTIONS", "false", ""},
		{"CI", "true", ""},
	} {
		got := cilog.Detect(func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if got != c.want {
			t.Errorf("%s=%s: got %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// failure returns a finding that decides the verdict.
func failure(subject, message, path string) check.Finding {
	f := check.Finding{
		Check: check.Consistency, Verdict: check.Fail, Subject: subject, Message: message, Gates: true,
	}
	if path != "" {
		f.At = &record.Position{Path: path, Line: 7}
	}
	return f
}

// An annotation is one line, as GitHub's runner reads it: a command, properties without a comma or
// a colon in their values, and a text.
var annotation = regexp.MustCompile(
	`^::(?:error|warning) (?:file=[^,:]+,line=[0-9]+,)?title=[^,:]+::.*\n$`)

// escapes are those of GitHub's toolkit.
var escapes = regexp.MustCompile(`%(25|3A|2C)`)

// TestHostileNames: whatever the names and messages of a log hold, an annotation stays one line
// with one command, and no property is added to it.
func TestHostileNames(t *testing.T) {
	for _, s := range []string{
		"plain", "a,b", "a:b", "a::b", "::error::x", "100%", "%0A::error::x", "a\n::error::x",
		"\r::error::x",
		"a\u2028::error::x", "x,line=1,file=/etc/passwd", "::stop-commands::x", "##[error]x",
		"\x1b[31m::error::x", "\xff::error::x", "a\x00b", "::endgroup::", " ::error::x",
	} {
		var out bytes.Buffer
		rep := &check.Report{Verdict: check.Fail, Findings: []check.Finding{
			failure(s, s, s), failure("other", s+"; "+s, ""),
		}}
		if err := cilog.GitHub.Annotate(&out, rep, ""); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(out.String(), "\n")
		if len(lines) != 3 || lines[2] != "" || strings.Contains(out.String(), "\r") {
			t.Errorf("%q: expected two lines, found %q", s, lines)
			continue
		}
		for _, line := range lines[:2] {
			if !annotation.MatchString(line) {
				t.Errorf("%q: no annotation: %q", s, line)
			}
			if rest := escapes.ReplaceAllString(line, ""); strings.Contains(rest, "%") {
				t.Errorf("%q: a percent sign is not escaped: %q", s, line)
			}
		}
	}
}

// TestAnnotate: ten of each kind at most, as many as GitHub shows. Only findings that decide the
// verdict have one, and what follows from a finding is in its annotation.
func TestAnnotate(t *testing.T) {
	rep := &check.Report{Verdict: check.Fail}
	for range 12 {
		undecided := failure("u", "unsure", "")
		undecided.Verdict = check.Undecided
		rep.Findings = append(rep.Findings, failure("s", "wrong", ""), undecided)
	}
	noted := failure("noted", "noted", "")
	noted.Gates = false
	waived := failure("waived", "waived", "")
	waived.Waived = &waiver.Waiver{Reason: "r"}
	passed := failure("passed", "passed", "")
	passed.Verdict = check.Pass
	rep.Findings = append(rep.Findings, noted, waived, passed)
	var out bytes.Buffer
	if err := cilog.GitHub.Annotate(&out, rep, ""); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{
		"::error ": 10, "::warning ": 10, "noted": 0, "waived": 0, "passed": 0,
	} {
		if got := strings.Count(out.String(), word); got != want {
			t.Errorf("%q occurs %d times, want %d", word, got, want)
		}
	}
	follows := failure("effect", "broke", "")
	follows.Cause = &check.Cause{Check: check.Consistency, Subject: "root"}
	rep = &check.Report{Verdict: check.Fail, Findings: []check.Finding{
		failure("root", "went wrong", ""), follows,
	}}
	out.Reset()
	if err := cilog.GitHub.Annotate(&out, rep, ""); err != nil {
		t.Fatal(err)
	}
	want := "::error title=root%3A went wrong::" +
		"consistency, root: went wrong; so consistency, effect: broke\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	for _, system := range []cilog.System{cilog.GitLab, ""} {
		if err := system.Annotate(&out, rep, ""); err != nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", system, err, out.String())
		}
	}
}

// TestWorkspace: a log inside of the workspace is named by its path in it. A file that does not
// exist is not named.
func TestWorkspace(t *testing.T) {
	dir, elsewhere := filepath.Join(t.TempDir(), "work"), filepath.Join(t.TempDir(), "run.log")
	for _, path := range []string{
		filepath.Join(dir, "run.log"), filepath.Join(dir, "runs", "soak.log"),
		filepath.Join(dir, "..run.log"), filepath.Join(dir, "..", "run.log"), elsewhere,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct{ path, workspace, want string }{
		{"run.log", dir, "run.log"},
		{filepath.Join(dir, "runs", "soak.log"), dir, "runs/soak.log"},
		{"run.log", filepath.Dir(dir), filepath.Base(dir) + "/run.log"},
		{"../run.log", dir, "../run.log"},
		{elsewhere, dir, elsewhere},
		{"..run.log", dir, "..run.log"},
		{"./run.log", "", "./run.log"},
	} {
		var out bytes.Buffer
		rep := &check.Report{Verdict: check.Fail, Findings: []check.Finding{failure("s", "m", c.path)}}
		if err := cilog.GitHub.Annotate(&out, rep, c.workspace); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), "::error file="+c.want+",line=7,") {
			t.Errorf("%q in %q: want %q, got %q", c.path, c.workspace, c.want, out.String())
		}
	}
	var out bytes.Buffer
	rep := &check.Report{Verdict: check.Fail, Findings: []check.Finding{failure("s", "m", "no.log")}}
	err := cilog.GitHub.Annotate(&out, rep, dir)
	if err != nil || strings.Contains(out.String(), "no.log") {
		t.Errorf("a file that does not exist: %v, %q", err, out.String())
	}
}

func TestGroup(t *testing.T) {
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text\n"); return err }
	for system, want := range map[cilog.System]string{
		cilog.GitHub: `^::group::All checks\ntext\n::endgroup::\n$`,
		cilog.GitLab: `^\x1b\[0Ksection_start:([0-9]+):vramsoak_all_checks\[collapsed=true\]\r` +
			`\x1b\[0KAll checks\ntext\n\x1b\[0Ksection_end:[0-9]+:vramsoak_all_checks\r\x1b\[0K\n$`,
		"": `^$`,
	} {
		var out bytes.Buffer
		if err := system.Group(&out, "All checks", text); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%q: got %q, want %s", system, out.String(), want)
		}
	}
	broken := errors.New("broken")
	err := cilog.GitHub.Group(io.Discard, "x", func(io.Writer) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
