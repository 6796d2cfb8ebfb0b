package check_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// samples returns a timeline with samples that belong to no file.
func samples(levels []int64, resolution int64, dialect string) *timeline.Timeline {
	f := &timeline.File{Outside: true}
	q := record.Allocated
	if dialect != "" {
		q = record.Used
	}
	for i, bytes := range levels {
		c := record.Checkpoint{Name: "GPU Memory", Sampled: true}
		c.Dialect, c.Pos.Line = dialect, i+1
		c.Set(q, record.Size{Bytes: bytes, Resolution: resolution})
		f.Checkpoints = append(f.Checkpoints, c)
	}
	return &timeline.Timeline{Outside: []*timeline.File{f}, Checkpoints: len(levels)}
}

// A readingKind makes the levels, in MiB, of runs that do not leak.
type readingKind struct {
	name    string
	dialect string
	level   func(r *rand.Rand, n int) func(i int) float64
}

// swinging returns levels that jump between idle and load, and stay at each for `dwell` readings on
// average.
func swinging(dwell float64) func(r *rand.Rand, n int) func(i int) float64 {
	return func(r *rand.Rand, _ int) func(i int) float64 {
		load := r.Float64() < 0.5
		return func(int) float64 {
			if r.Float64() < 1/dwell {
				load = !load
			}
			if load {
				return 6000 + 300*r.NormFloat64()
			}
			return 1000
		}
	}
}

// loading returns levels that grow at the beginning, for a tenth to a half of the readings, and
// then stay.
func loading(r *rand.Rand, n int) func(i int) float64 {
	until := float64(n) * (0.1 + 0.4*r.Float64())
	return func(i int) float64 { return 500 + 6000*min(1, float64(i)/until) + 2*r.NormFloat64() }
}

// loadingLast returns levels that stay, and grow at the end: the log ends while a second model is
// loaded.
func loadingLast(r *rand.Rand, n int) func(i int) float64 {
	from := float64(n) * (0.55 + 0.4*r.Float64())
	return func(i int) float64 { return 500 + 10*max(0, float64(i)-from) }
}

// requests returns the levels of a program whose requests take memory one by one. A garbage
// collector frees all of it every 4 to 20 readings.
func requests(r *rand.Rand, _ int) func(i int) float64 {
	held, left := 0.0, r.IntN(20)
	return func(int) float64 {
		held += 20 * r.Float64()
		if left--; left < 0 {
			held, left = 0, 4+r.IntN(17)
		}
		return 2000 + held
	}
}

// requestsAtRandom returns the levels of requests, but its garbage collector runs at random, every
// 6 readings on average.
func requestsAtRandom(r *rand.Rand, _ int) func(i int) float64 {
	held := 0.0
	return func(int) float64 {
		if held += 20 * r.Float64(); r.IntN(6) == 0 {
			held = 0
		}
		return 2000 + held
	}
}

// wandering returns levels with noise that has an autocorrelation of 0.6.
func wandering(r *rand.Rand, _ int) func(i int) float64 {
	const phi = 0.6
	off := 20 * r.NormFloat64()
	return func(int) float64 {
		off = phi*off + math.Sqrt(1-phi*phi)*20*r.NormFloat64()
		return 2000 + off
	}
}

var readingKinds = []readingKind{
	{"white", "", func(r *rand.Rand, _ int) func(int) float64 {
		return func(int) float64 { return 2000 + 20*r.NormFloat64() }
	}},
	{"autoregressive", "", wandering},
	{"swings, 3 readings each", "nvidia-smi-csv", swinging(3)},
	{"swings, 10 readings each", "nvidia-smi-csv", swinging(10)},
	{"swings, 40 readings each", "nvidia-smi-csv", swinging(40)},
	{"loads, then stays", "", loading},
	{"loads a second model at the end", "nvidia-smi-csv", loadingLast},
	{"given back now and then", "", requests},
	{"given back at random", "", requestsAtRandom},
}

// judgeReadings returns how many runs of a kind fail and how many are undecided, if they leak
// `leak` MiB a reading. Each run has n readings.
func judgeReadings(kind readingKind, n, runs int, leak float64) (failed, undecided int) {
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 0x72656164))
		level := kind.level(r, n)
		levels := make([]int64, n)
		for i := range levels {
			levels[i] = int64((level(i) + leak*float64(i)) * mib)
		}
		switch leakOf(check.Of(samples(levels, 0, kind.dialect), check.DefaultPolicy())).Verdict {
		case check.Fail:
			failed++
		case check.Undecided:
			undecided++
		}
	}
	return failed, undecided
}

// writeTable writes the table out to a file next to the one of TestVerdicts, if the flag
// -verdicts.table asks for tables.
func writeTable(t *testing.T, name string, out *strings.Builder) {
	t.Helper()
	if *verdictTable == "" {
		return
	}
	path := strings.TrimSuffix(*verdictTable, ".md") + "-" + name + ".md"
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReadingsVerdicts judges readings without a leak, and the same readings with a leak. A test
// run judges only a few of them; -verdicts.runs=10000 makes the table of
// docs/explanation/false-alarms.md.
func TestReadingsVerdicts(t *testing.T) {
	t.Parallel()
	runs := *verdictRuns
	out := &strings.Builder{}
	fmt.Fprintf(out,
		"\nReadings that are no file's, %% of %d runs: fail / undecided:\n\n"+
			"| series | readings | nothing leaks | "+
			"4 MiB a reading | 40 MiB a reading |\n|---|--:|--:|--:|--:|\n", runs)
	for _, kind := range readingKinds {
		for _, n := range []int{60, 300} {
			failed, undecided := judgeReadings(kind, n, runs, 0)
			if most := mostByChance(runs, 0.001); failed > most {
				t.Errorf("%s, %d readings: %d of %d clean runs fail, want at most %d, which is 0.1 %%",
					kind.name, n, failed, runs, most)
			}
			fmt.Fprintf(out, "| %s | %d | %.2f / %.1f |", kind.name, n, share(failed, runs),
				share(undecided, runs))
			for _, leak := range []float64{4, 40} {
				few := max(runs/20, 20)
				failed, undecided := judgeReadings(kind, n, few, leak)
				fmt.Fprintf(out, " %.0f / %.0f |", share(failed, few), share(undecided, few))
			}
			fmt.Fprintln(out)
		}
	}
	writeTable(t, "readings", out)
}
