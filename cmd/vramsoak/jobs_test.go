package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestActionsArePinned: the jobs that people copy name actions by commit. A tag can be moved to
// other code, which would then run with the rights of the job.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	jobs, err := filepath.Glob("../../ci/*.yml")
	if err != nil || len(jobs) == 0 {
		t.Fatal("no jobs", err)
	}
	own, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^\s*(?:-\s*)?uses:\s*(\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	found := 0
	for _, path := range append(jobs, own...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			found++
			if !strings.HasPrefix(m[1], "./") && (!pinned.MatchString(m[1]) ||
				!strings.HasPrefix(m[2], " # v")) {
				t.Errorf("%s: expected an action by commit, with its version behind it "+
					"(owner/name@COMMIT # v1.2.3), found %s%s", path, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("found no action in the jobs")
	}
}

// TestNightWithoutRunFolder: if a soak could not begin, the later steps of the nightly jobs do not
// fail as well.
func TestNightWithoutRunFolder(t *testing.T) {
	t.Parallel()
	var github struct {
		Jobs map[string]struct {
			Steps []struct {
				Name string `yaml:"name"`
				Run  string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	var gitlab map[string]struct {
		After []string `yaml:"after_script"`
	}
	scripts := map[string]string{}
	read := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read("../../ci/github-nightly.yml", &github)
	for _, step := range github.Jobs["soak"].Steps {
		if step.Name == "History" {
			scripts["GitHub, "+step.Name] = step.Run
		}
	}
	read("../../ci/gitlab-nightly.yml", &gitlab)
	scripts["GitLab"] = strings.Join(gitlab["nightly-soak"].After, "\n")
	if len(scripts) != 2 {
		t.Fatalf("scripts: %q", scripts)
	}
	for name, script := range scripts {
		dir := t.TempDir()
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c",
			"vramsoak() { echo \"vramsoak $*\" >&2; return 2; }\n"+script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"))
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out),
			"vramsoak history") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
