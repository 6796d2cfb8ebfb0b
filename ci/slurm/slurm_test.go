// Package slurm_test soaks a batch on a Slurm cluster with what vramsoak job slurm prints. It kills
// tasks and nodes, and demands the verdict of a run without shards. make test-slurm runs it.
package slurm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramsoak/fixtures/program"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

const (
	shards = 8
	rounds = 4
	files  = 60 * rounds
)

// pipeline is what the tasks soak. Each file takes two virtual seconds. A leak keeps leak MiB of
// each file.
const pipeline = `name: speech
gpu: 16GiB
files: {count: 60, seconds: 60}
parameters: {leak: 0}
models: [{id: asr, weights: 1GiB, resident: true}]
stages:
  - name: Transcription
    models: [asr]
    seconds: 2
    tensors:
      - {name: waveform, size: 200 * MiB}
      - {name: kept, size: leak * MiB, until: run}
`

// A cluster is a Slurm cluster on this machine, with a working folder that all nodes see.
type cluster struct {
	t         *testing.T
	dir, work string
	script    string // cluster.sh
	env       []string
}

func start(t *testing.T) *cluster {
	t.Helper()
	// A socket needs a short path, and munged refuses a folder that others may not enter, as
	// t.TempDir is.
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("vramsoak-slurm-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, work: filepath.Join(dir, "work"), script: script}
	c.env = append(os.Environ(), "CLUSTER="+dir, "SLURM_CONF="+filepath.Join(dir, "etc/slurm.conf"),
		"PATH="+filepath.Dir(program.Path(t))+":"+os.Getenv("PATH"))
	if err := os.Mkdir(c.work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.t = t
		c.sh("%s stop", script)
		if t.Failed() {
			t.Logf("the logs are in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%s", c.sh("%s start", script))
	return c
}

// sh runs a command in the working folder and returns its output. The command must succeed.
func (c *cluster) sh(format string, args ...any) string {
	c.t.Helper()
	out, code := c.try(format, args...)
	if code != 0 {
		c.t.Fatalf("%s: exit code %d\n%s", fmt.Sprintf(format, args...), code, out)
	}
	return out
}

// try runs a command in the working folder and returns its output and its exit code.
func (c *cluster) try(format string, args ...any) (out string, code int) {
	c.t.Helper()
	cmd := exec.Command("bash", "-c", fmt.Sprintf(format, args...))
	cmd.Dir, cmd.Env = c.work, c.env
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return string(text), 0
}

// until waits until a condition holds.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	const patience = 4 * time.Minute
	for end := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			status, _ := c.try("%s status", c.script)
			c.t.Fatalf("after %v not yet: %s\n%s", patience, what, status)
		}
	}
}

// A soak is a run of the cluster.
type soak struct {
	*cluster
	name         string
	array, judge int
	before       int // the size of Slurm's log when the soak was submitted
}

var submitted = regexp.MustCompile(`: 8 shards are job (\d+), their judge is job (\d+)\n`)

// submit pipes the script that vramsoak job slurm prints into sbatch.
func (c *cluster) submit(name, flags string, leak int, pace float64) *soak {
	c.t.Helper()
	s := &soak{cluster: c, name: name}
	if info, err := os.Stat(filepath.Join(c.dir, "log/slurmctld.log")); err == nil {
		s.before = int(info.Size())
	}
	c.sh("vramsoak job slurm --shards %d --run %s %s %s > %s.sh", shards, name, flags,
		command(leak, pace), name)
	c.t.Logf("%s", c.sh("sbatch < %s.sh", name))
	s.readJobs(1)
	return s
}

// command returns the flags of the soak and its command.
func command(leak int, pace float64) string {
	return fmt.Sprintf("--files audio --feed stdin --repeat %d --shuffle 1 --settle-limit 0 -- "+
		"vramsoak simulate pipeline.yaml --stdin --pace %g --set leak=%d", rounds, pace, leak)
}

// readJobs reads the numbers of the jobs that the nth submission printed.
func (s *soak) readJobs(nth int) {
	s.t.Helper()
	s.until("the jobs are submitted", func() bool {
		text, _ := os.ReadFile(filepath.Join(s.work, s.name+".out")) // not there yet
		all := submitted.FindAllStringSubmatch(string(text), -1)
		if len(all) < nth {
			return false
		}
		s.array, _ = strconv.Atoi(all[nth-1][1])
		s.judge, _ = strconv.Atoi(all[nth-1][2])
		return true
	})
}

// log returns the text of a shard's log. It returns "" before the shard has a log.
func (s *soak) log(shard int) string {
	text, err := os.ReadFile(filepath.Join(s.work, "runs", s.name, fmt.Sprintf("shard-%04d", shard),
		"soak.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// works waits until a shard's current task works, and has ended a few files.
func (s *soak) works(shard int) {
	s.t.Helper()
	s.until(fmt.Sprintf("shard %d has ended 3 files", shard), func() bool {
		return strings.Count(s.log(shard), "[vramsoak] file-end ") >= 3
	})
}

// pid returns the process of the vramsoak that has the shard.
func (s *soak) pid(shard int) int {
	s.t.Helper()
	leases, err := filepath.Glob(filepath.Join(s.work, "runs", s.name,
		fmt.Sprintf("shard-%04d/lease-*", shard)))
	if err != nil || len(leases) == 0 {
		s.t.Fatalf("shard %d has no lease: %v", shard, err)
	}
	text, err := os.ReadFile(slices.Max(leases))
	if err != nil {
		s.t.Fatal(err)
	}
	var lease struct{ PID int }
	if err := json.Unmarshal(text, &lease); err != nil || lease.PID <= 1 {
		s.t.Fatalf("%s: %v: %s", slices.Max(leases), err, text)
	}
	return lease.PID
}

// field returns a field that scontrol shows of a job.
func (c *cluster) field(job, name string) string {
	out, _ := c.try("scontrol -o show job %s", job)
	m := regexp.MustCompile(`(?m)(?:^| )` + name + `=(\S*)`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

// task returns the id of a task.
func (s *soak) task(shard int) string { return fmt.Sprintf("%d_%d", s.array, shard) }

// restarts demands that a task started again.
func (s *soak) restarts(shard int) {
	s.t.Helper()
	if n, _ := strconv.Atoi(s.field(s.task(shard), "Restarts")); n < 1 {
		s.t.Errorf("task %d did not start again", shard)
	}
	if !strings.Contains(s.log(shard), "[vramsoak] resume ") {
		s.t.Errorf("shard %d was not resumed", shard)
	}
}

// verdict waits for the judge and returns its exit code.
func (s *soak) verdict() int {
	s.t.Helper()
	state := ""
	s.until("the judge has ended", func() bool {
		state = s.field(strconv.Itoa(s.judge), "JobState")
		return state == "COMPLETED" || state == "FAILED"
	})
	code, _, _ := strings.Cut(s.field(strconv.Itoa(s.judge), "ExitCode"), ":")
	n, err := strconv.Atoi(code)
	if err != nil {
		s.t.Fatalf("the judge is %s with exit code %q", state, code)
	}
	return n
}

// history logs what became of the jobs, in Slurm's words.
func (s *soak) history() {
	s.t.Helper()
	var b strings.Builder
	for job := range shards {
		id := s.task(job + 1)
		fmt.Fprintf(&b, "task %s: %s, restarts %s, exit code %s, last on %s\n", id,
			s.field(id, "JobState"), s.field(id, "Restarts"), s.field(id, "ExitCode"),
			s.field(id, "NodeList"))
	}
	id := strconv.Itoa(s.judge)
	fmt.Fprintf(&b, "judge %s: %s, exit code %s\n", id, s.field(id, "JobState"),
		s.field(id, "ExitCode"))
	text, err := os.ReadFile(filepath.Join(s.dir, "log/slurmctld.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	text = text[min(s.before, len(text)):]
	of := regexp.MustCompile(fmt.Sprintf(`JobId=(%d_\d+\(|%d\b)|[Nn]odes? n\d`, s.array, s.judge))
	told := regexp.MustCompile(`Allocate|Started|WEXIT|WTERM|equeu|reempt|cancel|` +
		`not responding|node_did|Timed out|signal|error:`)
	for line := range strings.Lines(string(text)) {
		if of.MatchString(line) && told.MatchString(line) {
			b.WriteString(line)
		}
	}
	s.t.Logf("%s: Slurm's log\n%s", s.name, b.String())
}

// report is what vramsoak check says of a run.
type report struct {
	Verdict  string
	Files    int
	Findings []struct{ Check, Verdict, Subject string }
}

func (c *cluster) check(run string) (r report, code int) {
	c.t.Helper()
	out, code := c.try("vramsoak check --format json runs/%s 2>%s.err", run, run)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		text, _ := os.ReadFile(filepath.Join(c.work, run+".err"))
		c.t.Fatalf("check %s: %v\n%s%s", run, err, out, text)
	}
	return r, code
}

// failed returns the checks that failed, in order, each once.
func (r report) failed() (checks []string) {
	for _, f := range r.Findings {
		if f.Verdict == "fail" {
			checks = append(checks, f.Check)
		}
	}
	slices.Sort(checks)
	return slices.Compact(checks)
}

// fileEnd matches the end of a file. A file that an interruption cut short is done again.
var fileEnd = regexp.MustCompile(`(?m)^\[vramsoak\] file-end .*\bindex=(\d+) .*`)

// equals demands that the run has the verdict of the run without shards, and that each file ended
// exactly once.
func (s *soak) equals(whole report, code int) {
	s.t.Helper()
	times := map[int]int{}
	for shard := range shards {
		for _, m := range fileEnd.FindAllStringSubmatch(s.log(shard+1), -1) {
			if n, _ := strconv.Atoi(m[1]); !strings.HasSuffix(m[0], " error=interrupted") {
				times[n]++
			}
		}
	}
	for i := range files {
		if n := times[i+1]; n != 1 {
			s.t.Errorf("file %d ended %d times", i+1, n)
		}
		delete(times, i+1)
	}
	if len(times) > 0 {
		s.t.Errorf("the logs have other files: %v", times)
	}
	got, gotCode := s.check(s.name)
	if got.Verdict != whole.Verdict || got.Files != whole.Files ||
		!slices.Equal(got.failed(), whole.failed()) {
		s.t.Errorf("%s over %d files, failed %q; the run without shards is %s over %d files, failed %q",
			got.Verdict, got.Files, got.failed(), whole.Verdict, whole.Files, whole.failed())
	}
	if gotCode != code {
		s.t.Errorf("check exits with %d, and the judge's job with %d", gotCode, code)
	}
	s.t.Logf("%s: %s over %d files, each ended once; the judge's exit code is %d", s.name, got.Verdict,
		got.Files, code)
}

// kill kills the process of a shard.
func (s *soak) kill(shard int) {
	s.t.Helper()
	pid := s.pid(shard)
	s.t.Logf("%s: kill -9 %d, the vramsoak of task %s", now(), pid, s.task(shard))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

func now() string { return time.Now().Format("15:04:05.000") }

// say runs a command of Slurm and logs it.
func (s *soak) say(format string, args ...any) {
	s.t.Helper()
	s.t.Logf("%s: %s", now(), fmt.Sprintf(format, args...))
	s.sh(format, args...)
}

// A disturbance is what happens to a run.
type disturbance struct {
	name, flags string
	pace        float64 // virtual seconds in a second
	leak        int
	do          func(s *soak) (again []int) // the shards whose tasks must have started again
	// resubmit is set if Slurm does not start some tasks again. The script is then submitted again.
	resubmit bool
}

var disturbances = []disturbance{
	{name: "undisturbed", do: func(*soak) []int { return nil }},
	{name: "leaking", leak: 4, do: func(s *soak) []int {
		s.works(4)
		s.kill(4)
		return []int{4}
	}},
	{name: "killed", do: func(s *soak) []int {
		s.works(3)
		s.kill(3)
		return []int{3}
	}},
	{name: "node-lost", do: func(s *soak) (again []int) {
		for shard := range shards {
			s.works(shard + 1)
		}
		for shard := range shards {
			if s.field(s.task(shard+1), "NodeList") == "n2" {
				again = append(again, shard+1)
			}
		}
		s.say("%s kill-node n2", s.script)
		s.until("Slurm has noticed that n2 is lost", func() bool {
			return strings.HasPrefix(s.sh("sinfo -h -n n2 -p main -o %%T"), "down")
		})
		s.say("%s start-node n2", s.script)
		return again
	}},
	// Slurm starts the tasks of n2 again while the first ones still work on their shards.
	{name: "node-silent", flags: "--gres=", pace: 1, do: func(s *soak) (again []int) {
		for shard := range shards {
			s.works(shard + 1)
		}
		for shard := range shards {
			if s.field(s.task(shard+1), "NodeList") == "n2" {
				again = append(again, shard+1)
			}
		}
		s.say("%s silence n2", s.script)
		first := map[int]int{}
		for _, shard := range again {
			first[shard] = s.pid(shard)
		}
		for _, shard := range again {
			s.until(fmt.Sprintf("another task has taken shard %d", shard), func() bool {
				return s.pid(shard) != first[shard]
			})
			s.t.Logf("%s: shard %d is process %d's and no longer process %d's, which lives: %v", now(),
				shard, s.pid(shard), first[shard], syscall.Kill(first[shard], 0) == nil)
		}
		s.say("%s start-node n2", s.script)
		return again
	}},
	{name: "signalled", do: func(s *soak) []int {
		s.works(2)
		s.say("scancel --batch --signal=USR1 %s", s.task(2))
		s.works(5)
		s.say("scancel --batch --signal=USR1 %s", s.task(5))
		return []int{2, 5}
	}},
	{name: "requeued", do: func(s *soak) []int {
		s.works(1)
		s.say("scontrol requeue %s", s.task(1))
		return []int{1}
	}},
	{name: "preempted", pace: 2, do: func(s *soak) (again []int) {
		for shard := range shards {
			s.works(shard + 1)
		}
		for shard := range shards {
			if s.field(s.task(shard+1), "NodeList") == "n1" {
				again = append(again, shard+1)
			}
		}
		s.say("sbatch --partition=urgent --nodelist=n1 --exclusive --output=/dev/null --wrap 'sleep 2'")
		return again
	}},
	{name: "time-limit", flags: "--time 1 --signal-lead 20s", pace: 1, do: func(*soak) []int {
		var all []int
		for shard := range shards {
			all = append(all, shard+1)
		}
		return all
	}},
	{name: "cancelled", resubmit: true, do: func(s *soak) []int {
		s.works(6)
		s.say("scancel %s", s.task(6))
		s.works(7)
		pid := s.pid(7)
		s.say("kill -9 $(ps -o ppid= -p %d) %d $(pgrep -P %d) # the shell of task %s and all below it",
			pid, pid, pid, s.task(7))
		return nil
	}},
}

func TestSlurm(t *testing.T) {
	if os.Getenv("SLURM") == "" {
		t.Skip("not run: make test-slurm starts a Slurm cluster and runs it there")
	}
	c := start(t)
	path := filepath.Join(c.work, "pipeline.yaml")
	if err := os.WriteFile(path, []byte(pipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	c.sh("vramsoak fixtures audio audio --count 60 --seconds 1-3 --seed 1")
	const pace = 5
	// The runs without shards go on while the cluster works.
	wholes := map[int]*exec.Cmd{}
	for _, leak := range []int{0, 4} {
		cmd := exec.Command("bash", "-c", fmt.Sprintf("exec vramsoak soak --runs runs --run whole-%d %s "+
			">whole-%d.txt 2>&1", leak, command(leak, pace), leak))
		cmd.Dir, cmd.Env = c.work, c.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wholes[leak] = cmd
		t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	}
	reports := map[int]report{}
	whole := func(leak int) report {
		if _, known := reports[leak]; !known {
			_ = wholes[leak].Wait() // the exit code is the verdict
			reports[leak], _ = c.check(fmt.Sprintf("whole-%d", leak))
			t.Logf("without shards, leak of %d MiB: %s over %d files, failed %q", leak,
				reports[leak].Verdict, reports[leak].Files, reports[leak].failed())
		}
		return reports[leak]
	}
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			c.t = t
			defer func() { c.t = t }()
			if d.pace == 0 {
				d.pace = pace
			}
			s := c.submit(d.name, "--time 10 "+d.flags, d.leak, d.pace)
			again := d.do(s)
			code := s.verdict()
			s.history()
			for _, shard := range again {
				s.restarts(shard)
			}
			if d.resubmit {
				if code == 0 {
					t.Error("the judge passed a run with cancelled shards")
				}
				t.Log("submitted again, from here, with --wait")
				out, waited := c.try("bash %s.sh --wait | tee -a %s.out; exit ${PIPESTATUS[0]}", d.name, d.name)
				t.Logf("%s", out)
				s.readJobs(2)
				if code = s.verdict(); waited != code {
					t.Errorf("bash SCRIPT --wait exits with %d, the judge's job with %d", waited, code)
				}
				s.history()
			}
			s.equals(whole(d.leak), code)
		})
	}
	c.t = t
	for leak, want := range map[int]string{0: "pass", 4: "fail"} {
		if r, known := reports[leak]; known && r.Verdict != want { // -run may leave some out
			t.Errorf("the run without shards and a leak of %d MiB: %s, want %s", leak, r.Verdict, want)
		}
	}
}
