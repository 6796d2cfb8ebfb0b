package merge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/shard"
	"vramsoak/parser/record"
)

// A testShard is a shard's log to write. Its files take a second each.
type testShard struct {
	shard, shards, of int
	batch, version    string
	run               string // its name
	silent            bool   // prints no checkpoint
	policy            string
	places            []int
	level             func(i int) int64             // idle level after the i-th file, from 0
	status            func(place int) record.Status // nil: ok
	cut               bool                          // no end of the run
	workers           int                           // the log is that of the first of so many GPUs
	early             bool                          // ended by --fail-fast
	resume            func(i int) *record.Resume    // before the i-th file; nil: none
	extra             func(i int, b []byte) []byte  // further lines after the i-th file
}

var testBegan = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)

// newShards returns shards of a batch whose files are dealt in turn.
func newShards(shards, files int) []testShard {
	all := make([]testShard, shards)
	for i := range all {
		all[i] = testShard{
			shard: i + 1, shards: shards, of: files, batch: "b1", version: "v1", run: "today",
		}
		for place := i + 1; place <= files; place += shards {
			all[i].places = append(all[i].places, place)
		}
	}
	return all
}

// start returns the first record of the shard's log.
func (s *testShard) start() record.RunStart {
	return record.RunStart{
		Header: record.Header{Time: testBegan}, Files: len(s.places), Feed: "list",
		Version: s.version, Command: "work", ID: "id", Policy: s.policy, Workers: s.workers,
		Share: record.Share{
			Shard: s.shard, Shards: s.shards, Of: s.of, Batch: s.batch, Run: s.run,
			Owner: record.Owner{Lease: 1, Node: fmt.Sprintf("n%d", (s.shard+1)/2)},
		},
	}
}

func (s *testShard) log() []byte {
	var b []byte
	line := func(rec interface{ AppendLine([]byte) []byte }) { b = append(rec.AppendLine(b), '\n') }
	now := testBegan
	head := func() record.Header { return record.Header{Time: now} }
	line(s.start())
	for i, place := range s.places {
		path := fmt.Sprintf("%04d.wav", place)
		if s.resume != nil {
			if r := s.resume(i); r != nil {
				r.Header = head()
				line(*r)
			}
		}
		line(record.FileStart{Header: head(), Index: place, Path: path, AudioSeconds: 60})
		now = now.Add(time.Second)
		level := int64(1 << 30)
		if s.level != nil {
			level += s.level(i)
		}
		for _, name := range []string{"Before Work", "After Work"} {
			if s.silent {
				continue
			}
			c := record.Checkpoint{Header: head(), Name: name}
			c.Set(record.Allocated, record.Size{Bytes: level})
			c.Set(record.Reserved, record.Size{Bytes: 4 << 30})
			c.Set(record.Total, record.Size{Bytes: 16 << 30})
			line(&c)
		}
		end := record.FileEnd{
			Header: head(), Index: place, Path: path, Status: record.StatusOK, Seconds: 1,
		}
		if s.status != nil {
			end.Status = s.status(place)
		}
		if end.Status != record.StatusUnknown {
			line(end)
		}
		if s.extra != nil {
			b = s.extra(i, b)
		}
	}
	if s.cut {
		return b
	}
	line(record.Exit{Header: head(), PID: 7})
	reason := "done"
	if s.early {
		reason = record.FailFast
	}
	line(record.RunEnd{Header: head(), Files: len(s.places), Seconds: 1, Reason: reason})
	return b
}

// write writes the shards as a run folder, and returns it.
func write(t *testing.T, shards []testShard) string {
	t.Helper()
	dir := t.TempDir()
	for i := range shards {
		writeShard(t, dir, &shards[i])
	}
	return dir
}

func writeShard(t *testing.T, dir string, s *testShard) string {
	t.Helper()
	dir = filepath.Join(dir, shard.Folder(s.shard))
	log := filepath.Join(dir, "soak.log")
	if s.workers > 0 {
		log = filepath.Join(dir, "gpu-0", "soak.log")
	}
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, s.log(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// judge judges the shards in these folders by the default policy.
func judge(t *testing.T, paths ...string) *Judged {
	t.Helper()
	j, err := judgeBy(check.DefaultPolicy(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func judgeBy(policy check.Policy, paths ...string) (*Judged, error) {
	shards, err := Find(paths)
	if err != nil {
		return nil, err
	}
	run, err := Open(shards, false)
	if err != nil {
		return nil, err
	}
	return run.Judge(policy, nil)
}

// findingOf returns the finding of a report on a check and a subject.
func findingOf(t *testing.T, rep *check.Report, name, subject string) check.Finding {
	t.Helper()
	i := slices.IndexFunc(rep.Findings, func(f check.Finding) bool {
		return f.Check == name && f.Subject == subject
	})
	if i < 0 {
		t.Fatalf("no finding on %s, %s in %+v", name, subject, rep.Findings)
	}
	return rep.Findings[i]
}

// TestPass: a run of complete shards passes, wherever the folders of its shards are, and in any
// order.
func TestPass(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	run := write(t, shards)
	one, other := write(t, shards[2:]), write(t, shards[:2])
	for _, paths := range [][]string{
		{run},
		{one, other},
		{filepath.Join(run, "shard-0003"), one + "/shard-0004", other},
		{run, other}, // the shards of the other folder are there twice, and equal
	} {
		rep := judge(t, paths...).Report
		if rep.Verdict != check.Pass || rep.Files != 60 || rep.Checkpoints != 120 {
			t.Errorf("%v: %s, %d files, %d checkpoints: %+v", paths, rep.Verdict, rep.Files,
				rep.Checkpoints, rep.Findings)
		}
		if want := (check.ShardCount{Count: 4, Complete: 4, Nodes: 2}); *rep.Shards != want {
			t.Errorf("%v: got %+v, want %+v", paths, *rep.Shards, want)
		}
		f := findingOf(t, rep, check.Completeness, check.Files)
		if f.Message != "all 60 files ended ok, each once, in 4 shards" {
			t.Errorf("got %q", f.Message)
		}
	}
}

// TestShardTooShort: growth cannot be judged in a shard of two files. The report says so, and a
// policy that requires the check makes the run undecided: a leak there would not show.
func TestShardTooShort(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	first, second := &shards[0], &shards[1]
	second.places = append(second.places, first.places[2:]...)
	first.places = first.places[:2]
	first.level = func(i int) int64 { return int64(i) << 26 }
	run := write(t, shards)
	rep := judge(t, run).Report
	const note = "not judged in every shard, for want of files in one process or of readings: leak " +
		"(shard 1), fragmentation (shard 1)"
	if rep.Verdict != check.Pass || !slices.Contains(rep.Notes, note) {
		t.Errorf("%s, %q", rep.Verdict, rep.Notes)
	}
	policy := check.DefaultPolicy()
	policy.Require = []string{check.Leak}
	j, err := judgeBy(policy, run)
	if err != nil {
		t.Fatal(err)
	}
	f := findingOf(t, j.Report, check.Leak, "idle level")
	const want = "required by the policy, but not judged in shard 1: growth over files needs 8 " +
		"files in one process; the longest here has 2"
	if j.Report.Verdict != check.Undecided || !strings.HasPrefix(f.Message, want) {
		t.Errorf("%s: %s", j.Report.Verdict, f.Message)
	}
}

// TestShardWithoutReadings: nothing is known of the memory of a shard that prints no checkpoint, so
// the run does not pass.
func TestShardWithoutReadings(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	shards[2].silent = true
	rep := judge(t, write(t, shards)).Report
	f := findingOf(t, rep, check.Recovery, "memory readings")
	if rep.Verdict != check.Undecided || f.Shard != 3 {
		t.Errorf("%s, in shard %d: %s", rep.Verdict, f.Shard, f.Message)
	}
}

// TestLeak: a leak in some shards is found in the run as in a run without shards, and the worst
// shard is named.
func TestLeak(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 80)
	for i := range shards {
		shards[i].level = func(file int) int64 { return int64(i) * int64(file) << 20 }
	}
	rep := judge(t, write(t, shards)).Report
	f := findingOf(t, rep, check.Leak, check.IdleLevel)
	if rep.Verdict != check.Fail || f.Verdict != check.Fail || *f.Measured != 3<<20 ||
		f.Shard != 4 || f.Node != "n2" || f.InShards != 3 || f.File != 4 {
		t.Errorf("got %s: %+v", rep.Verdict, f)
	}
	if !strings.HasSuffix(f.Message, "; in shards 2-4") || !strings.HasPrefix(f.Message,
		"grows by 3.00 MiB a file") {
		t.Errorf("got %q", f.Message)
	}
	if !strings.HasSuffix(f.At.Path, "shard-0004/soak.log") {
		t.Errorf("got %v", f.At)
	}
}

// TestWaiver: a waiver covers a merged finding only if it covers the worst shard.
func TestWaiver(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 80)
	for i := range shards {
		shards[i].level = func(file int) int64 { return int64(i) * int64(file) << 20 }
	}
	run := write(t, shards)
	for limit, want := range map[string]check.Verdict{"3MiB": check.Pass, "2MiB": check.Fail} {
		policy, err := check.ParsePolicy([]byte("waive:\n  - {check: leak, subject: idle level, up_to: "+
			limit+", until: 2030-01-01, reason: known}\n"), "policy")
		if err != nil {
			t.Fatal(err)
		}
		j, err := judgeBy(policy, run)
		if err != nil {
			t.Fatal(err)
		}
		if j.Report.Verdict != want {
			t.Errorf("%s: got %s: %+v", limit, j.Report.Verdict, j.Report.Findings)
		}
	}
}

// TestShortShard: a shard with too few files to be decided does not make the run undecided.
func TestShortShard(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 160)
	for i := range shards {
		shards[i].places = nil
		shards[i].level = func(file int) int64 { return int64(file%2) << 10 }
	}
	shards[3].level = func(file int) int64 { return int64(file*7919%5) << 20 }
	for place := 1; place <= 160; place++ {
		s := &shards[place%3]
		if place > 150 {
			s = &shards[3]
		}
		s.places = append(s.places, place)
	}
	alone := judge(t, write(t, shards[3:])).Report
	if f := findingOf(t, alone, check.Leak, check.IdleLevel); f.Verdict != check.Undecided {
		t.Errorf("the short shard alone: got %s: %s", f.Verdict, f.Message)
	}
	rep := judge(t, write(t, shards)).Report
	if f := findingOf(t, rep, check.Leak, check.IdleLevel); f.Verdict != check.Pass {
		t.Errorf("got %s: %s", f.Verdict, f.Message)
	}
}

// TestTooShortToJudge: a pass on growth says in which shards growth was not judged. Shards without
// files do not count.
func TestTooShortToJudge(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 120)
	const of = 30 + 4 + 5
	for i, files := range []int{30, 4, 5, 0} {
		shards[i].of, shards[i].places = of, shards[i].places[:files]
	}
	place := 0
	for i := range shards {
		for k := range shards[i].places {
			place++
			shards[i].places[k] = place
		}
	}
	rep := judge(t, write(t, shards)).Report
	const want = "not judged in every shard, for want of files in one process or of readings: leak " +
		"(shards 2 and 3), fragmentation (shards 2 and 3)"
	if rep.Verdict != check.Pass || !slices.Contains(rep.Notes, want) {
		t.Errorf("%s, %q", rep.Verdict, rep.Notes)
	}
}
