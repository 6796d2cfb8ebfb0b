package job

import (
	"bytes"
	"os/exec"
	"strings"
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
