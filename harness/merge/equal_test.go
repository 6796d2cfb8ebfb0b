package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestLikeOneRun: a run that is cut into shards gets the verdict of the run without shards, and the
// same findings fail, in the same stage.
func TestLikeOneRun(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	noise := make([]int64, 400)
	for i := range noise {
		noise[i] = random.Int64N(1 << 20)
	}
	for _, c := range []struct {
		name   string
		level  func(file int) int64
		status func(place int) record.Status
	}{
		{name: "clean", level: func(int) int64 { return 0 }},
		{name: "noise", level: func(file int) int64 { return noise[file] }},
		{name: "leak", level: func(file int) int64 { return int64(file)<<20 + noise[file] }},
		{name: "leak from file 20", level: func(file int) int64 {
			return int64(max(0, file-20)) << 21
		}},
		{name: "warm-up", level: func(file int) int64 { return int64(min(file, 6)) << 26 }},
		{name: "one step", level: func(file int) int64 { return int64(min(1, file/30)) << 27 }},
		{name: "peak", level: func(int) int64 { return 15 << 30 }},
		{name: "failed files", level: func(int) int64 { return 0 }, status: func(p int) record.Status {
			if p%100 == 7 {
				return record.StatusFailed
			}
			return record.StatusOK
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cut, one := newShards(4, 400), newShards(1, 400)
			for _, all := range [][]testShard{cut, one} {
				for i := range all {
					all[i].level, all[i].status = c.level, c.status
				}
			}
			got, want := judge(t, write(t, cut)).Report, alone(t, &one[0])
			if got.Verdict != want.Verdict || got.Files != want.Files ||
				got.Checkpoints != want.Checkpoints || got.HighWater.Total != want.HighWater.Total {
				t.Errorf("got %s of %d files, want %s of %d", got.Verdict, got.Files, want.Verdict,
					want.Files)
			}
			if a, b := failures(got), failures(want); a != b {
				t.Errorf("these findings fail:\n%swant:\n%s", a, b)
			}
			// One shard is a run like any other.
			single := judge(t, write(t, one)).Report
			if a, b := failures(single), failures(want); a != b || single.Verdict != want.Verdict {
				t.Errorf("one shard: %s\n%swant: %s\n%s", single.Verdict, a, want.Verdict, b)
			}
		})
	}
}

// alone judges a log as vramsoak check judges the log of a run.
func alone(t *testing.T, s *testShard) *check.Report {
	t.Helper()
	j := check.New(check.DefaultPolicy())
	b := &parser.Builder{}
	b.Done = func(f *timeline.File) { j.Add(f) }
	if err := b.Read(bytes.NewReader(s.log()), "soak.log"); err != nil {
		t.Fatal(err)
	}
	return j.Report(b.Timeline())
}

// failures lists the findings that fail, without numbers that depend on how the run was cut.
func failures(rep *check.Report) (list string) {
	for _, f := range rep.Findings {
		if f.Verdict == check.Fail {
			list += fmt.Sprintln(f.Check, f.Subject, f.Stage, f.Gates, f.Cause != nil)
		}
	}
	return list
}

// TestWorkers: a shard that ran on several GPUs has a log of each.
func TestWorkers(t *testing.T) {
	t.Parallel()
	shards := newShards(2, 64)
	run := write(t, shards[:1])
	for gpu := range 2 {
		s := shards[1]
		s.places = nil
		for i, place := range shards[1].places {
			if i%2 == gpu {
				s.places = append(s.places, place)
			}
		}
		log := bytes.Replace(s.log(), []byte(" id=id"),
			fmt.Appendf(nil, " id=id-gpu%d workers=2 gpu=%d", gpu, gpu), 1)
		log = bytes.Replace(log, []byte("files=16"), []byte("files=32"), 1)
		dir := filepath.Join(run, "shard-0002", fmt.Sprintf("gpu-%d", gpu))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "soak.log"), log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rep := judge(t, run).Report
	if rep.Verdict != check.Pass || rep.Files != 64 || rep.Shards.Complete != 2 {
		t.Errorf("got %s of %d files: %+v", rep.Verdict, rep.Files, rep.Findings)
	}
	if err := os.RemoveAll(filepath.Join(run, "shard-0002", "gpu-1")); err != nil {
		t.Fatal(err)
	}
	rep = judge(t, run).Report
	if rep.Verdict != check.Fail || rep.Shards.Complete != 1 {
		t.Errorf("a log of a GPU is missing: got %s, %+v", rep.Verdict, rep.Shards)
	}
}
