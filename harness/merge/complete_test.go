package merge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

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
