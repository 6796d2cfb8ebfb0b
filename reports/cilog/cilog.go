// Package cilog writes what CI systems understand in the log of a job: annotations of GitHub
// Actions, which appear beside the job and in the files view, and groups of lines that can be
// folded, for GitHub Actions and GitLab.
//
//	system := cilog.Detect(os.Getenv)
//	system.Annotate(w, rep, workspace)
//	system.Group(w, "All checks", func(w io.Writer) error { ... })
package cilog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A System is a CI system whose log is written to. The zero value is none: its methods write
// nothing.
type System string

// These are the systems.
const (
	GitHub System = "github"
	GitLab System = "gitlab"
)

// Detect returns the CI system in which the process runs, by the variables that each sets in its
// jobs.
func Detect(getenv func(string) string) System {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return GitHub
	case getenv("GITLAB_CI") == "true":
		return GitLab
	}
	return ""
}

// annotationsMax is the most annotations of one kind. GitHub shows ten of each kind for a step, and
// drops the others.
const annotationsMax = 10

// Annotate writes an error annotation for each finding that fails, and a warning for each that is
// undecided, if it decides the verdict. What follows from a finding is in its annotation. A log
// inside of the folder workspace is named by its path in it, which links the annotation to the
// file.
func (s System) Annotate(w io.Writer, rep *check.Report, workspace string) error {
	if s != GitHub {
		return nil
	}
	count := map[string]int{}
	for _, g := range wording.Groups(rep) {
		if !g.Decides() {
			continue
		}
		kind := "error"
		if g.Verdict == check.Undecided {
			kind = "warning"
		}
		if count[kind]++; count[kind] > annotationsMax {
			continue
		}
		text := []string{wording.Named(g.Finding) + ": " + g.Message}
		for _, f := range g.Consequences {
			text = append(text, "so "+wording.Consequence(f))
		}
		err := sink.GitHub(w, kind, properties(g.Finding, workspace), strings.Join(text, "; "))
		if err != nil {
			return fmt.Errorf("write an annotation: %w", err)
		}
	}
	return nil
}

// properties returns where an annotation belongs, and its title. Only a file that exists is named:
// a log may come from a pipe or a simulator.
func properties(f check.Finding, workspace string) []sink.Property {
	var all []sink.Property
	if f.At != nil && exists(f.At.Path) {
		all = append(all, sink.Property{Name: "file", Value: inWorkspace(f.At.Path, workspace)},
			sink.Property{Name: "line", Value: strconv.Itoa(f.At.Line)})
	}
	return append(all, sink.Property{Name: "title", Value: wording.Title(f)})
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// inWorkspace returns the path of a file relative to the workspace, or unchanged if the file is not
// in it.
func inWorkspace(path, workspace string) string {
	if workspace == "" {
		return path
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(workspace, whole)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		return path
	}
	return relative
}

// Group writes lines that the CI system folds under a title. Without a CI system it writes nothing.
func (s System) Group(w io.Writer, title string, write func(io.Writer) error) error {
	var begin, end func() error
	switch s {
	case GitHub:
		begin = func() error { return sink.GitHub(w, "group", nil, title) }
		end = func() error { return sink.GitHub(w, "endgroup", nil, "") }
	case GitLab:
		name := sectionName(title)
		begin = func() error { return sink.GitLabStart(w, time.Now().Unix(), name, title) }
		end = func() error { return sink.GitLabEnd(w, time.Now().Unix(), name) }
	default:
		return nil
	}
	if err := begin(); err != nil {
		return fmt.Errorf("begin a group of lines: %w", err)
	}
	if err := write(w); err != nil {
		return err
	}
	if err := end(); err != nil {
		return fmt.Errorf("end a group of lines: %w", err)
	}
	return nil
}

// sectionName returns a title as the name of a section, which has only letters, digits, and
// underscores.
func sectionName(title string) string {
	return "vramsoak_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(title))
}
