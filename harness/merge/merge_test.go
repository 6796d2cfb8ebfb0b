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

// TestRefused: shards that are not of the same run as most are refused by name.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *testShard)
		want   string
	}{
		{"batch", func(s *testShard) { s.batch = "b2" }, "of the batch b1 with 60 files; found " +
			"one of the batch b2 with 60 files"},
		{"files", func(s *testShard) { s.of = 61 }, "found one of the batch b1 with 61 files"},
		{"shards", func(s *testShard) { s.shards = 5 }, "of 4 shards; found one of 5"},
		{"run", func(s *testShard) { s.run = "yesterday" }, `with the name "today"; found one of ` +
			`the run "yesterday"`},
		{"version", func(s *testShard) { s.version = "v2" }, "by version v1 of vramsoak; found " +
			"version v2"},
		{"policy", func(s *testShard) { s.policy = "gate: [leak]\n" }, "with the same policy; found " +
			"another policy"},
	} {
		shards := newShards(4, 60)
		c.change(&shards[0]) // the others are the majority
		_, err := judgeBy(check.DefaultPolicy(), write(t, shards))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "shard-0001: expected a shard of the same run as ") {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAnyPolicy: with a policy that the user names, shards of different policies are one run.
func TestAnyPolicy(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	shards[2].policy = "gate: [leak]\n"
	found, err := Find([]string{write(t, shards)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(found, true); err != nil {
		t.Error(err)
	}
}

// TestTwice: a shard with two different logs is refused.
func TestTwice(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	run := write(t, shards)
	shards[1].cut = true
	again := writeShard(t, t.TempDir(), &shards[1])
	_, err := judgeBy(check.DefaultPolicy(), run, again)
	want := filepath.Join(run, "shard-0002") + " and " + again +
		": expected each shard once, found two different logs of shard 2; give the one that counts"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOtherLogs: a folder whose log is not of a shard, and paths without shards, are refused.
func TestOtherLogs(t *testing.T) {
	t.Parallel()
	run := write(t, newShards(2, 20))
	log := filepath.Join(run, "shard-0002", "soak.log")
	for content, want := range map[string]string{
		"hello\n": log + ": expected the log of a shard, as vramsoak soak --shard writes it, ",
		"[vramsoak] run-start files=2 feed=list version=v1 command=work id=a\n": log + ": expected the log of " +
			"a shard, whose first line says which shard it is",
	} {
		if err := os.WriteFile(log, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := judgeBy(check.DefaultPolicy(), run); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
	if _, err := Find([]string{run, t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "expected the folder of a run with shards") {
		t.Errorf("a folder without shards: %v", err)
	}
	if found, err := Find([]string{t.TempDir(), "no-such-file"}); err != nil || len(found) > 0 {
		t.Errorf("paths without shards: %v, %v", found, err)
	}
}

// TestIncomplete: what is missing from a run is named, and completeness fails.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(shards []testShard)
		after   func(t *testing.T, run string)
		verdict check.Verdict
		shards  string // message of the finding on shards; "" for none
		files   string // message of the finding on files
	}{
		{
			name: "no folder", verdict: check.Fail,
			after: func(t *testing.T, run string) {
				if err := os.RemoveAll(filepath.Join(run, "shard-0002")); err != nil {
					t.Fatal(err)
				}
			},
			shards: "shard 2 never started, or the logs are not here; 3 of 4 shards are complete; " +
				"start the tasks of the others again, unless they still run: a task goes on where " +
				"its log ends",
			files: "15 files (2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46 and 3 more) have no end; 45 of " +
				"60 files ended ok",
		},
		{
			name: "empty folder, empty log, torn first line", verdict: check.Fail,
			after: func(t *testing.T, run string) {
				for name, content := range map[string]string{"shard-0003": "", "shard-0004": "[vramsoak] ru"} {
					log := filepath.Join(run, name, "soak.log")
					if err := os.WriteFile(log, []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Remove(filepath.Join(run, "shard-0002", "soak.log")); err != nil {
					t.Fatal(err)
				}
			},
			shards: "shards 2-4 never started, or the logs are not here; 1 of 4 shards are complete; " +
				"start the tasks of the others again, unless they still run: a task goes on where " +
				"its log ends",
			files: "45 files (2-4, 6-8, 10-12, 14-16, 18-20, 22-24, 26-28, 30-32, 34-36, 38-40, 42-44, " +
				"46-48 and 9 more) have no end; 15 of 60 files ended ok",
		},
		{
			name: "cut short", verdict: check.Fail,
			change: func(shards []testShard) {
				shards[1].cut = true
				shards[3].cut, shards[3].status = true, func(place int) record.Status {
					if place == 60 {
						return record.StatusUnknown
					}
					return record.StatusOK
				}
			},
			shards: "shards 2 and 4 were cut short; 2 of 4 shards are complete; start the tasks of " +
				"the others again, unless they still run: a task goes on where its log ends",
			files: "file 60 has no end; 59 of 60 files ended ok",
		},
		{
			name: "a file that no shard has", verdict: check.Fail,
			change: func(shards []testShard) { shards[0].places = slices.Delete(shards[0].places, 3, 4) },
			files:  "file 13 has no end; 59 of 60 files ended ok",
		},
		{
			name: "done twice", verdict: check.Fail,
			change: func(shards []testShard) {
				shards[1].places = append(shards[1].places, 57)
				shards[2].places = append(shards[2].places, 60)
			},
			files: "2 files were done by several shards (57 and 60); 60 of 60 files ended ok",
		},
		{
			name: "not of the batch", verdict: check.Fail,
			change: func(shards []testShard) { shards[1].places = append(shards[1].places, 61) },
			files:  "1 file is not of the batch (61), which has 60; 60 of 60 files ended ok",
		},
		{
			name: "a file that failed", verdict: check.Fail,
			change: func(shards []testShard) {
				for i := range shards {
					shards[i].status = func(place int) record.Status {
						if place == 7 || place == 8 || place == 11 {
							return record.StatusFailed
						}
						return record.StatusOK
					}
				}
			},
			files: `3 files of shards 3 and 4 did not end ok; shard 3: file 7 (0007.wav) and file 11 ` +
				`(0011.wav) failed, last at "Before Work"; 57 of 60 files ended ok`,
		},
		{
			name: "fail fast", verdict: check.Undecided,
			change: func(shards []testShard) {
				shards[1].early = true
				shards[1].extra = nil
			},
			after: func(t *testing.T, run string) { // the log says that the share has 15 files, and has 13
				log := filepath.Join(run, "shard-0002", "soak.log")
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				from := strings.Index(string(text), "[vramsoak] file-start time=2026-11-20T02:00:13")
				to := strings.Index(string(text), "[vramsoak] exit")
				text = slices.Delete(text, from, to)
				if err := os.WriteFile(log, text, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			files: "2 files (54 and 58) never started, because --fail-fast ended their shards early; all " +
				"58 others ended ok",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shards := newShards(4, 60)
			if c.change != nil {
				c.change(shards)
			}
			run := write(t, shards)
			if c.after != nil {
				c.after(t, run)
			}
			rep := judge(t, run).Report
			if rep.Verdict != c.verdict {
				t.Errorf("got %s, want %s", rep.Verdict, c.verdict)
			}
			f := findingOf(t, rep, check.Completeness, check.Files)
			if f.Message != c.files || f.Verdict != c.verdict {
				t.Errorf("files: %s\n got %q\nwant %q", f.Verdict, f.Message, c.files)
			}
			if c.shards == "" {
				if rep.Shards.Incomplete != "" {
					t.Errorf("incomplete: %s", rep.Shards.Incomplete)
				}
				return
			}
			s := findingOf(t, rep, check.Completeness, Shards)
			if s.Message != c.shards || s.Verdict != check.Fail {
				t.Errorf("shards: %s\n got %q\nwant %q", s.Verdict, s.Message, c.shards)
			}
			if f.Cause == nil || f.Cause.Subject != Shards {
				t.Errorf("the files do not follow from the shards: %+v", f.Cause)
			}
		})
	}
}

// TestLogOfAGPUIsMissing: a shard on two GPUs of which one has no log is not complete. In a soak by
// time nobody knows which files the other one had.
func TestLogOfAGPUIsMissing(t *testing.T) {
	t.Parallel()
	shards := newShards(2, 60)
	for i := range shards {
		shards[i].of = 0
	}
	shards[1].workers = 1
	if v := judge(t, write(t, shards)).Report.Verdict; v != check.Pass {
		t.Errorf("one GPU: %s", v)
	}
	shards[1].workers = 2
	rep := judge(t, write(t, shards)).Report
	if rep.Verdict != check.Fail || rep.Shards.Complete != 1 || rep.Shards.Incomplete != "2" {
		t.Errorf("%s, %+v", rep.Verdict, rep.Shards)
	}
}

// TestOlderLease: lines that a task wrote after another one had taken over do not count, and are
// noted.
func TestOlderLease(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	const after, torn = 1000, "[vramsoak] fi" // the task was killed while it wrote a line
	shards[2].resume = func(i int) *record.Resume {
		if i != 2 {
			return nil
		}
		return &record.Resume{
			Index: 11, Cut: int64(len(torn)), Reason: "killed",
			Owner: record.Owner{Lease: 2, Node: "n9"}, After: after,
		}
	}
	run := write(t, shards)
	dir := filepath.Join(run, "shard-0003")
	older := filepath.Join(dir, "soak.lease-000001.log")
	log, err := os.ReadFile(filepath.Join(dir, "soak.log"))
	if err != nil {
		t.Fatal(err)
	}
	for extra, want := range map[string]string{
		"": "",
		"one\ntwo\nthree": "shard 3: 3 lines of lease 1 (node n2) came after lease 2 (node n9) had " +
			"taken over, and are ignored",
		"half of a line": "shard 3: 1 line of lease 1 (node n2) came after lease 2 (node n9) had " +
			"taken over, and is ignored",
	} {
		text := append(slices.Clone(log[:after]), torn+extra...)
		if err := os.WriteFile(older, text, 0o644); err != nil {
			t.Fatal(err)
		}
		rep := judge(t, run).Report
		if rep.Verdict != check.Pass {
			t.Errorf("got %s: %+v", rep.Verdict, rep.Findings)
		}
		got := slices.DeleteFunc(slices.Clone(rep.Notes), func(note string) bool {
			return !strings.Contains(note, "lease")
		})
		if joined := strings.Join(got, "\n"); joined != want {
			t.Errorf("%q: got %q, want %q", extra, joined, want)
		}
	}
}

// TestLogOfKilledTask: a task was killed after it had put the log of the lease before aside, and
// before it had put its own in that place. The log of the lease before counts.
func TestLogOfKilledTask(t *testing.T) {
	t.Parallel()
	run := write(t, newShards(4, 60))
	dir := filepath.Join(run, "shard-0003")
	aside := filepath.Join(dir, "soak.lease-000001.log")
	if err := os.Rename(filepath.Join(dir, "soak.log"), aside); err != nil {
		t.Fatal(err)
	}
	if rep := judge(t, run).Report; rep.Verdict != check.Pass || rep.Shards.Complete != 4 {
		t.Errorf("%s, %+v: %+v", rep.Verdict, rep.Shards, rep.Findings)
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

// TestNothing: logs without any reading are no run to judge.
func TestNothing(t *testing.T) {
	t.Parallel()
	shards := newShards(2, 2)
	for i := range shards {
		shards[i].places = nil
	}
	if _, err := judgeBy(check.DefaultPolicy(), write(t, shards)); err == nil ||
		!strings.Contains(err.Error(), "found none in the logs of 2 shards") {
		t.Errorf("got %v", err)
	}
}
