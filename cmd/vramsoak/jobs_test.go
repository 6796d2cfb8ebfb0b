package main

import (
	"fmt"
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

// shardedJobs are the jobs of a CI system that share a batch.
type shardedJobs struct {
	soak, judge string   // scripts of bash
	variables   []string // of shard 2 of 3
	run         string
}

// readShardedJobs reads the jobs that people copy. In GitHub's, it replaces the expressions for one
// shard.
func readShardedJobs(t *testing.T, shard string) map[string]shardedJobs {
	t.Helper()
	read := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal([]byte(strings.NewReplacer("${{ matrix.shard }}", shard,
				"${{ strategy.job-total }}", "3", "${{ github.run_id }}", "7").Replace(string(text))), into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var github struct {
		Jobs map[string]struct {
			Needs    string
			If       string
			Strategy struct {
				FailFast *bool `yaml:"fail-fast"`
				Matrix   struct{ Shard []int }
			}
			Steps []struct {
				Run  string
				Uses string
				With map[string]any
			}
		}
	}
	read("../../ci/github-matrix.yml", &github)
	soak, judge := github.Jobs["soak"], github.Jobs["judge"]
	for i, n := range soak.Strategy.Matrix.Shard {
		if n != i+1 {
			t.Errorf("GitHub: shards %v do not count from 1", soak.Strategy.Matrix.Shard)
		}
	}
	if soak.Strategy.FailFast == nil || *soak.Strategy.FailFast || judge.Needs != "soak" ||
		judge.If != "${{ !cancelled() }}" {
		t.Error("GitHub: a failed shard must end neither the others nor the judge")
	}
	if len(soak.Steps) != 3 || len(judge.Steps) != 2 ||
		soak.Steps[2].With["path"] != judge.Steps[0].With["path"] {
		t.Fatalf("GitHub: steps %+v and %+v", soak.Steps, judge.Steps)
	}
	var gitlab struct {
		Soak, Judge struct {
			Script   []string
			Parallel int
			Needs    []string
			When     string
		}
	}
	read("../../ci/gitlab-parallel.yml", &gitlab)
	if gitlab.Soak.Parallel < 2 || gitlab.Judge.When != "always" {
		t.Errorf("GitLab: %+v", gitlab)
	}
	return map[string]shardedJobs{
		"GitHub": {soak: soak.Steps[1].Run, judge: judge.Steps[1].Run, run: "soak-7"},
		"GitLab": {
			soak: strings.Join(gitlab.Soak.Script, "\n"), judge: strings.Join(gitlab.Judge.Script, "\n"),
			variables: []string{"CI_PIPELINE_ID=7", "CI_NODE_INDEX=" + shard, "CI_NODE_TOTAL=3"},
			run:       "soak-7",
		},
	}
}

// TestShardedJobs runs the commands of the jobs that people copy: three shards, and the judge. A
// pipeline that leaks fails the judge alone.
func TestShardedJobs(t *testing.T) {
	t.Parallel()
	for _, leak := range []string{"", " --leak"} {
		for system := range readShardedJobs(t, "1") {
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			for _, folder := range []string{bin, filepath.Join(dir, "audio")} {
				if err := os.Mkdir(folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write := func(name, text string, mode os.FileMode) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 90 {
				write(fmt.Sprintf("audio/%02d.wav", i), "", 0o644)
			}
			// python transcribe.py ARGUMENTS
			write("bin/python", "#!/bin/sh\nshift\nexec pipeline"+leak+" \"$@\"\n", 0o755)
			run := func(script string, variables []string) (int, string) {
				cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
				cmd.Dir = dir
				cmd.Env = append(append(os.Environ(), variables...),
					"PATH="+bin+":"+os.Getenv("PATH"), "GITHUB_ACTIONS=", "GITLAB_CI=")
				out, _ := cmd.CombinedOutput() // the exit code is looked at
				return cmd.ProcessState.ExitCode(), string(out)
			}
			var jobs shardedJobs
			for _, shard := range []string{"2", "1", "3"} {
				jobs = readShardedJobs(t, shard)[system]
				if code, out := run(jobs.soak, jobs.variables); code != 0 {
					t.Errorf("%s, shard %s: exit code %d\n%s", system, shard, code, out)
				}
				// Each job has a runner of its own, and its artifact is the folder runs.
				if code, out := run("mv runs artifact-"+shard, nil); code != 0 {
					t.Fatal(out)
				}
			}
			if code, out := run("mkdir runs && cp -r artifact-*/. runs/", nil); code != 0 {
				t.Fatal(out)
			}
			want, verdict := 0, "PASS: 90 files"
			if leak != "" {
				want, verdict = 1, "FAIL: leak 1.00 MiB/file"
			}
			code, out := run(jobs.judge, jobs.variables)
			if code != want || !strings.Contains(out, verdict) {
				t.Errorf("%s%s: the judge exits with %d, want %d and %q\n%s", system, leak, code, want,
					verdict, out)
			}
			// A shard whose job was lost: the judge says so, and fails.
			if err := os.RemoveAll(filepath.Join(dir, "runs", jobs.run, "shard-0002")); err != nil {
				t.Fatal(err)
			}
			if code, out := run(jobs.judge, jobs.variables); code != 1 || !strings.Contains(out, "shard 2") {
				t.Errorf("%s%s: without shard 2 the judge exits with %d\n%s", system, leak, code, out)
			}
		}
	}
}
