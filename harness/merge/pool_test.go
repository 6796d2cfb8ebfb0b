package merge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
)

// noisy returns shards of 50 files each whose idle level has noise of 4 MiB, and grows by leak
// bytes a file in each shard.
func noisy(shards int, leak func(s *testShard) float64) []testShard {
	all := newShards(shards, 50*shards)
	for i := range all {
		s := &all[i]
		random := rand.New(rand.NewPCG(uint64(i), 7))
		s.level = func(file int) int64 {
			return int64(float64(1<<30) + random.NormFloat64()*4*(1<<20) + leak(s)*float64(file))
		}
	}
	return all
}

var strict = func() check.Policy {
	p, err := check.ParsePolicy([]byte("leak: {max_growth: 64KiB}\n"), "policy")
	if err != nil {
		panic(err)
	}
	return p
}()

const kib = 1 << 10

// TestPooled: what is lost in the noise of each shard shows over all of them.
func TestPooled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		shards  int
		leak    func(s *testShard) float64
		verdict check.Verdict
		message string // a part of it
		shard   int
		node    string
		note    string // a part of it
	}{
		{
			name: "clean", shards: 64, leak: func(*testShard) float64 { return 0 },
			verdict: check.Pass, message: "over 64 shards: ",
		},
		{
			name: "leak", shards: 64, leak: func(*testShard) float64 { return 102.4 * kib },
			verdict: check.Fail, message: "over 64 shards, each with too much noise to tell; at most 64.0 " +
				"KiB a file is allowed",
		},
		{
			name: "few shards", shards: 2, leak: func(*testShard) float64 { return 102.4 * kib },
			verdict: check.Undecided, message: "; over 2 shards it is ",
			shard: 2, node: "n1",
		},
		{
			name: "one shard", shards: 64, leak: func(s *testShard) float64 {
				if s.shard == 9 {
					return 4096 * kib
				}
				return 0
			},
			verdict: check.Fail, message: "grows by ", shard: 9, node: "n5",
			note: "idle level grows faster than elsewhere in shard 9 by ",
		},
		{
			name: "one node", shards: 64, leak: func(s *testShard) float64 {
				if s.shard == 9 || s.shard == 10 {
					return 300 * kib
				}
				return 0
			},
			verdict: check.Fail, message: "more than the others", node: "n5",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, err := judgeBy(strict, write(t, noisy(c.shards, c.leak)))
			if err != nil {
				t.Fatal(err)
			}
			f := findingOf(t, j.Report, check.Leak, check.IdleLevel)
			if f.Verdict != c.verdict || j.Report.Verdict != c.verdict ||
				!strings.Contains(f.Message, c.message) {
				t.Errorf("got %s, %s: %s, want %s: %s", j.Report.Verdict, f.Verdict, f.Message,
					c.verdict, c.message)
			}
			if f.Shard != c.shard || f.Node != c.node {
				t.Errorf("in shard %d on node %q, want shard %d on node %q", f.Shard, f.Node, c.shard,
					c.node)
			}
			if c.note != "" && !strings.Contains(strings.Join(j.Report.Notes, "\n"), c.note) {
				t.Errorf("got the notes %q, want %q", j.Report.Notes, c.note)
			}
		})
	}
}

// TestFamily: growth must be certain in view of all shards. At one shard in a thousand, a growth
// that is certain to 0.1 % is expected.
func TestFamily(t *testing.T) {
	t.Parallel()
	shards := newShards(1000, 20_000)
	all := shards[:1:1]
	all[0].level = func(file int) int64 { return int64(file) * 300 * kib }
	o := opened{Shard: Shard{}, start: all[0].start()}
	run := write(t, all)
	found, err := Find([]string{run})
	if err != nil {
		t.Fatal(err)
	}
	o.Logs = found[0].Logs
	s, err := o.judge(check.DefaultPolicy(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.5 * 0.001 / 1000 / float64(s.report.Series)
	if s.level > 1.001*want || s.level < 0.999*want {
		t.Errorf("a series of one of 1000 shards has the level %g, want %g", s.level, want)
	}
	if s.report.Level != 0.001 {
		t.Errorf("the run has the level %g", s.report.Level)
	}
}

// TestWarmUpsOfMany: where all shards warm up, one whose noise makes the warm-up look like growth
// does not fail the run. The first series is one of 6,000 that looks so at a rate of 0.003 %.
func TestWarmUpsOfMany(t *testing.T) {
	t.Parallel()
	shards := newShards(8, 50*8)
	for i := range shards {
		levels := fixtures.Levels(fixtures.LevelSpec{
			Kind: "warm-up", Sigma: 20, Files: 50, Seed: 77_019 + uint64(i),
		})
		shards[i].level = func(file int) int64 { return levels.Bytes[file%50] }
	}
	j, err := judgeBy(strict, write(t, shards))
	if err != nil {
		t.Fatal(err)
	}
	f := findingOf(t, j.Report, check.Leak, check.IdleLevel)
	if f.Verdict != check.Undecided ||
		!strings.Contains(f.Message, "growth slows down in all shards") {
		t.Errorf("%s: %s", f.Verdict, f.Message)
	}
}
