package job

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramsoak/fixtures/golden"
)

// example returns a job with each of its options.
func example() Slurm {
	return Slurm{
		Soak: Soak{
			Program: "vramsoak", Flags: []string{"--files", "batch.txt", "--timeout", "10m"},
			Command: []string{"python", "transcribe.py", "--list", "{list}"},
			Shards:  8, Runs: "/shared/my runs", Run: "nightly-42",
		},
		AtOnce: 4, Gres: "gpu:a100:1", Time: "4:00:00", Lead: 90 * time.Second, MaxRequeues: 20,
		Partition: "gpu", Account: "speech", CPUs: 4, Memory: "32G",
		Setup:      []string{"module load cuda", "source venv/bin/activate"},
		Extra:      []string{"--constraint=a100"},
		JudgeExtra: []string{"--partition=cpu"},
	}
}

func script(t *testing.T, s Slurm) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSlurmScript(t *testing.T) {
	t.Parallel()
	golden.File(t, "testdata/slurm.sh", []byte(script(t, example())))
}

// TestTimes: the lengths are those that sbatch's manual gives for its formats.
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "90:30": 90*time.Minute + 30*time.Second, "1:30:00": 90 * time.Minute,
		"1-12": 36 * time.Hour, "1-00:30": 24*time.Hour + 30*time.Minute,
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"":           0, "0": 0, "x": 0, "1:2:3:4": 0, "-1": 0, "90m": 0, "1-": 0,
	} {
		if got, ok := parseTime(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
}

// TestSlurmRefuses: what Slurm or the shell would read in another way is refused, and each mistake
// is named.
func TestSlurmRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(*Slurm)
		want   string
	}{
		{func(s *Slurm) { s.Shards = 0 }, "--shards: "},
		{func(s *Slurm) { s.Run = "../x" }, "--run: "},
		{func(s *Slurm) { s.Run = "a%j" }, "--run: "},
		{func(s *Slurm) { s.Runs = "" }, "--runs: "},
		{func(s *Slurm) { s.Runs = "a%j" }, "--runs: "},
		{func(s *Slurm) { s.Time = "4h" }, `found "4h"`},
		{func(s *Slurm) { s.Time = "1" }, "--signal-lead: expected less than the time limit of 1m0s"},
		{func(s *Slurm) { s.Lead = 0 }, "--signal-lead: expected 1s to"},
		{func(s *Slurm) { s.Lead = 19 * time.Hour; s.Time = "1-0" }, "--signal-lead: expected 1s to"},
		{func(s *Slurm) { s.Gres = "gpu:1\n#SBATCH --exclusive" }, "--gres: "},
		{func(s *Slurm) { s.Partition = "a b" }, "--partition: "},
		{func(s *Slurm) { s.Extra = []string{"exclusive"} }, "--sbatch: "},
		{func(s *Slurm) { s.Extra = []string{"--x\nrm"} }, "--sbatch: "},
		{func(s *Slurm) { s.JudgeExtra = []string{""} }, "--judge-sbatch: "},
		{func(s *Slurm) { s.Setup = []string{"a\nb"} }, "--setup: "},
	} {
		s := example()
		test.change(&s)
		var b bytes.Buffer
		if err := s.Write(&b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("expected an error with %q, found %v", test.want, err)
		}
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written", test.want, b.Len())
		}
	}
	s := example()
	s.Shards, s.Run, s.Time = 0, "", "x"
	if err := s.Validate(); strings.Count(err.Error(), "expected") != 3 {
		t.Errorf("expected three mistakes, found %v", err)
	}
}

// TestSlurmQuotes: bash hands the words of any command to vramsoak as they were given.
func TestSlurmQuotes(t *testing.T) {
	t.Parallel()
	words := []string{
		"a b", "it's", "$HOME `id` \\", "{list}", "{}", "a\nEND_OF_SHARDS\nb", "tab\there", "*", "~", "",
		"é 漢", "-x", `"`, "#", "x=y", strings.Repeat("long ", 40), "!!", "a{b,c}",
	}
	s := example()
	s.Program, s.Command, s.Setup = "printf", words, nil
	s.Flags = nil
	text := script(t, s)
	out, err := exec.Command("bash", "-n", "-c", text).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Count(text, "\nEND_OF_SHARDS\n") != 1 {
		t.Error("a word ends the script of the shards")
	}
	// The command line of the task, with a program that prints each word.
	_, task, _ := strings.Cut(text, "\nprintf soak")
	task, _, _ = strings.Cut(task, " &\nsoak=$!")
	_, task, found := strings.Cut(task, "--run nightly-42 -- ")
	if !found {
		t.Fatalf("the script has no command:\n%s", text)
	}
	out, err = exec.Command("bash", "-c", `printf '<%s>\0' `+task).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "<" + strings.Join(words, ">\x00<") + ">\x00"; string(out) != want {
		t.Errorf("got  %q\nwant %q", out, want)
	}
}

// TestSlurmTask runs the script of a task, with programs in place of vramsoak and scontrol. It
// queues the task again if the time is over or vramsoak was killed, and not otherwise.
func TestSlurmTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program("scontrol", `echo "$*" >>requeued; exit 1`+"\n") // a real one ends the script
	for _, test := range []struct {
		name, vramsoak string
		setup          string
		restarts       int
		signal         syscall.Signal // for the script
		group          bool           // and for all that it started
		code           int
		again          bool
	}{
		{name: "complete", vramsoak: "exit 0", code: 0},
		{name: "refused", vramsoak: "exit 2", code: 2},
		{name: "killed", vramsoak: "kill -9 $$", code: 137, again: true},
		{name: "killed too often", vramsoak: "kill -9 $$", restarts: 20, code: 137},
		{
			name: "time is over", vramsoak: "trap 'kill $!; exit 143' TERM; sleep 20 & touch ready; wait",
			signal: syscall.SIGUSR1, code: 143, again: true,
		},
		{
			name:     "complete just in time",
			vramsoak: "trap 'kill $!; exit 0' TERM; sleep 20 & touch ready; wait",
			signal:   syscall.SIGUSR1, code: 0,
		},
		{
			name:     "ended by Slurm",
			vramsoak: "trap 'sleep 0.2; exit 143' TERM; sleep 20 & touch ready; wait",
			signal:   syscall.SIGTERM, group: true, code: 143,
		},
		{name: "setup that fails", setup: "exit 9", vramsoak: "exit 0", code: 9},
	} {
		s := example()
		s.Setup = []string{"true"}
		if test.setup != "" {
			s.Setup = append(s.Setup, test.setup)
		}
		s.Program = program("vramsoak", test.vramsoak+"\n")
		_, text, _ := strings.Cut(script(t, s), "<<'END_OF_SHARDS'\n")
		text, _, found := strings.Cut(text, "END_OF_SHARDS\n")
		if !found {
			t.Fatal("the script has no task")
		}
		cmd := exec.Command(program("task.sh", text))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=3",
			"SLURM_JOB_ID=7", fmt.Sprintf("SLURM_RESTART_COUNT=%d", test.restarts))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if test.signal != 0 {
			for { // vramsoak has started and waits for its signal
				if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			to := cmd.Process.Pid
			if test.group {
				to = -to
			}
			if err := syscall.Kill(to, test.signal); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait() // the exit code is looked at
		asked, _ := os.ReadFile(filepath.Join(dir, "requeued"))
		if again := string(asked) == "requeue 7\n"; again != test.again || !again && len(asked) > 0 ||
			cmd.ProcessState.ExitCode() != test.code {
			t.Errorf("%s: exit code %d, want %d; asked scontrol for %q, want it %v\n%s", test.name,
				cmd.ProcessState.ExitCode(), test.code, asked, test.again, out.String())
		}
		_, _ = os.Remove(filepath.Join(dir, "requeued")), os.Remove(filepath.Join(dir, "ready"))
	}
}

// TestBucket: the settings of a bucket stay at the end of the address that the judge gets.
func TestBucket(t *testing.T) {
	t.Parallel()
	s := Soak{Runs: "s3://b/runs?region=eu", Run: "night"}
	if got := s.Whole(); got != "s3://b/runs/night?region=eu" || !s.Bucket() {
		t.Errorf("%s", got)
	}
}
