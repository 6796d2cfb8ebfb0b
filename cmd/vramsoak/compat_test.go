package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/golden"
)

// compatDir holds what users have from earlier versions: see the README there.
const compatDir = "../../fixtures/compat"

// compatOwn are the entries of compatDir that are not frozen: the expectations of the tests, the
// sums, the description of the fixtures, and their generator.
var compatOwn = []string{"README.md", "SHA256SUMS", "cases", "generate"}

// TestCompatFixturesAreFrozen compares the fixtures with their sums. UPDATE writes no sums: a
// fixture that a later program has written proves nothing.
func TestCompatFixturesAreFrozen(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(compatDir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: expected lines such as sha256sum prints, found %q", line)
		}
		want[name] = sum
	}
	got := map[string]string{}
	eachCompatFixture(t, func(name string, content []byte) {
		got[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the fixtures are not what they were made (-want +got):\n%s\n"+
			"Take a file back with git checkout; "+
			"add the line of a new one with sha256sum.", diff)
	}
}

// eachCompatFixture reads each frozen file. Names are relative to compatDir.
func eachCompatFixture(t *testing.T, do func(name string, content []byte)) {
	t.Helper()
	err := filepath.WalkDir(compatDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(compatDir, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(compatOwn, name) && d.IsDir():
			return filepath.SkipDir
		case d.IsDir() || slices.Contains(compatOwn, name):
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			do(name, content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompat runs the command lines of fixtures/compat/cases on copies of the fixtures. A section
// of a case is a line "$ COMMAND" and what it must give, in a form that a reworded message does not
// change and another verdict does. UPDATE=compat rewrites the expectations. UPDATE=1
// does not, so that they never change as a side effect of rewriting other goldens.
func TestCompat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	cases, err := filepath.Glob(filepath.Join(compatDir, "cases", "*.txt"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", compatDir, err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := playCompat(t, compatHome(t), string(text))
			if os.Getenv("UPDATE") == "compat" {
				golden.Rewrite(t, path, []byte(got))
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("what users have is judged otherwise than before (-want +got):\n%s\n"+
					"Where that is meant, write it with "+
					"UPDATE=compat, and say in docs/CHANGELOG.md what users will see.", diff)
			}
		})
	}
}

// compatHome copies the fixtures into a folder of its own, as if the runs had been made there.
func compatHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	eachCompatFixture(t, func(name string, content []byte) {
		if filepath.Base(name) == runJSONName {
			content = bytes.ReplaceAll(content, []byte("{{FOLDER}}"), []byte(home))
		}
		to := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			t.Fatal(err)
		}
	})
	return home
}

// playCompat runs the commands of a case and returns the case with what they gave.
func playCompat(t *testing.T, home, text string) string {
	t.Helper()
	var out strings.Builder
	said := false // the comments above a command are over
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			fmt.Fprintf(&out, "%s\n%s\n", line, compatResult(t, home, command))
			said = true
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "" && !said:
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// compatResult runs one command: a program and its arguments, with filters behind " | ": "grep
// REGEXP" keeps the lines that match, "grep -v REGEXP" drops them; the exit code always stays.
// "ended RUN" lists the files of a run that ended.
func compatResult(t *testing.T, home, command string) string {
	t.Helper()
	command, filters, _ := strings.Cut(command, " | ")
	args := strings.Fields(command)
	code, lines := "files that ended:", []string(nil)
	if args[0] == "ended" {
		lines = endedFiles(t, filepath.Join(home, args[1]))
	} else {
		var stdout []byte
		code, stdout = compatRun(t, home, args)
		lines = compatLines(t, args, stdout)
	}
	for filter := range strings.SplitSeq(filters, " | ") {
		pattern, ok := strings.CutPrefix(filter, "grep ")
		if !ok {
			continue
		}
		pattern, drops := strings.CutPrefix(pattern, "-v ")
		re := regexp.MustCompile(pattern)
		lines = slices.DeleteFunc(lines, func(line string) bool { return re.MatchString(line) == drops })
	}
	return strings.Join(append([]string{code}, lines...), "\n") + "\n"
}

// compatRun runs a command in a clean environment, without a driver.
func compatRun(t *testing.T, home string, args []string) (code string, stdout []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC",
		"LD_LIBRARY_PATH=" + filepath.Join(home, "no-driver"),
	}
	if program := os.Getenv("COMPAT_VRAMSOAK"); program != "" && args[0] == "vramsoak" {
		cmd.Path, cmd.Err = program, nil // another version: the one that users had
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		t.Fatal(err)
	}
	n := 0
	if failed {
		n = exit.ExitCode()
	}
	if n == exitTrouble {
		t.Logf("%s: %s", strings.Join(args, " "), stderr.String())
	}
	return fmt.Sprintf("exit %d", n), stdout
}

// ownLine is a line of the harness about a file; endedLine says how one ended.
var (
	ownLine   = regexp.MustCompile(`(?m)^\[vramsoak\] file-(start|end) .*?index=(\d+) .*$`)
	endedLine = regexp.MustCompile(`path=("(?:[^"\\]|\\.)*"|\S+).* status=(\w+)`)
)

// endedFiles lists the files of a run that ended, by its logs: by which path and how. A file that
// ended ok and was begun again is listed as done twice.
func endedFiles(t *testing.T, run string) []string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(run, "gpu-*", "soak.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		logs = []string{filepath.Join(run, "soak.log")}
	}
	status := map[string]string{}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ownLine.FindAllStringSubmatch(string(text), -1) {
			line, index := m[0], fmt.Sprintf("%3s", m[2])
			switch {
			case m[1] == "end":
				fields := endedLine.FindStringSubmatch(line)
				if fields == nil {
					t.Fatalf("%s: %q has no path or no status", log, line)
				}
				status[index] = fields[1] + " " + fields[2]
			case strings.HasSuffix(status[index], " ok"):
				status[index] += ", begun again"
			}
		}
	}
	var lines []string
	for _, index := range slices.Sorted(maps.Keys(status)) {
		lines = append(lines, strings.TrimSpace(index)+" "+status[index])
	}
	return lines
}
