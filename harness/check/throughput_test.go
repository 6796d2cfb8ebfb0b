package check_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// timedFiles returns a timeline of files with an hour of audio each and the given durations in
// seconds. The parameter lengths says whether the timeline has the lengths of the audio.
func timedFiles(seconds []float64, lengths bool) *timeline.Timeline {
	tl := &timeline.Timeline{}
	for i, s := range seconds {
		f := &timeline.File{
			Index: i + 1, Path: fmt.Sprintf("%04d.wav", i+1), Status: record.StatusOK,
			Supervised: true, Seconds: s,
		}
		f.Pos.Line, f.EndPos.Line = 2*i+1, 2*i+2
		if lengths {
			f.AudioSeconds = 3600
		}
		tl.Files = append(tl.Files, f)
	}
	return tl
}

func throughputOf(tl *timeline.Timeline) check.Finding {
	all := check.Of(tl, check.DefaultPolicy()).Findings
	return all[slices.IndexFunc(all,
		func(f check.Finding) bool { return f.Check == check.Throughput })]
}

// times returns the durations of the files 1 to n in seconds: ten times the factor that the
// function of gives.
func times(n int, of func(file int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 10 * of(i+1)
	}
	return out
}

// from returns a factor for each file: 1 before file `first`, and 1 + more from that file on.
func from(first int, more float64) func(file int) float64 {
	return func(file int) float64 {
		if file >= first {
			return 1 + more
		}
		return 1
	}
}

// TestSlowdowns: a slowdown that lasts to the end fails, and the finding names the file at which it
// began.
func TestSlowdowns(t *testing.T) {
	t.Parallel()
	ramp := func(first, last int) func(int) float64 { // from file `last` on, files take twice as long
		return func(file int) float64 {
			return 1 + min(1, max(0, float64(file-first+1)/float64(last-first+1)))
		}
	}
	for _, c := range []struct {
		name  string
		n     int
		of    func(int) float64
		fails bool
		first int
	}{
		{"twice as long from 21 on", 60, from(21, 1), true, 21},
		{"a tenth longer from 21 on", 60, from(21, 0.1), true, 21},
		{"four hundredths longer from 21 on: allowed", 60, from(21, 0.04), false, 0},
		{"gradual slowdown from 21 to 50", 50, ramp(21, 50), true, 21},
		{"gradual slowdown from 21 to 50, and slow to the end", 60, ramp(21, 50), true, 21},
		{"slower and slower from the first on", 50, ramp(1, 50), true, 1},
		{"two steps", 60, func(f int) float64 { return 1 + 0.5*float64((f-1)/20) }, true, 0},
		{"faster from 21 on", 60, from(21, -0.5), false, 0},
		{"steady", 60, from(99, 1), false, 0},
		{
			"one slow file", 60, func(f int) float64 { return 1 + 5*float64(min(f/30, 1)*min(30/f, 1)) },
			false, 0,
		},
		{"the last file slow", 60, from(60, 1), false, 0},
		{"the last two files slow", 60, from(59, 1), false, 0},
		{
			"a slow phase that ends", 60, func(f int) float64 { return from(21, 1)(f) - from(36, 1)(f) + 1 },
			false, 0,
		},
		{
			"a long slow phase that ends", 60,
			func(f int) float64 { return from(21, 1)(f) - from(50, 1)(f) + 1 }, false, 0,
		},
		{"the first files slow", 60, func(f int) float64 { return 3 - from(4, 1)(f) }, false, 0},
	} {
		for _, lengths := range []bool{true, false} {
			for _, noise := range []float64{0, 0.02} {
				r := rand.New(rand.NewPCG(1, 0x736c6f77))
				seconds := times(c.n,
					func(file int) float64 { return c.of(file) * math.Exp(noise*r.NormFloat64()) })
				f := throughputOf(timedFiles(seconds, lengths))
				name := fmt.Sprintf("%s, lengths %t, noise %g", c.name, lengths, noise)
				if (f.Verdict == check.Fail) != c.fails {
					t.Errorf("%s: got %s: %s; want fail to be %t", name, f.Verdict, f.Message, c.fails)
					continue
				}
				if !c.fails {
					continue
				}
				// Noise may hide the first slow file, so the finding may name a file that is up to 4 files off.
				if c.first > 0 && (noise == 0 && f.File != c.first || math.Abs(float64(f.File-c.first)) > 4) {
					t.Errorf("%s: began at file %d, want %d: %s", name, f.File, c.first, f.Message)
				}
				if f.At == nil || f.At.Line != 2*f.File || f.FirstFile == nil || f.FirstFile.Index != f.File {
					t.Errorf("%s: file %d, first file %v and line %v disagree", name, f.File, f.FirstFile, f.At)
				}
				if said := strings.Contains(f.Message, "not give the lengths of files"); said == lengths {
					t.Errorf("%s: lengths are known: %t, but the message is %q", name, lengths, f.Message)
				}
			}
		}
	}
}

// busy lists durations on a machine that also does other work, as multiples of the usual duration.
var busy = []struct {
	name string
	of   func(r *rand.Rand) func(file int) float64
}{
	{"noise of 5 %", func(r *rand.Rand) func(int) float64 {
		return func(int) float64 { return math.Exp(0.05 * r.NormFloat64()) }
	}},
	{"noise of 30 %", func(r *rand.Rand) func(int) float64 {
		return func(int) float64 { return math.Exp(0.3 * r.NormFloat64()) }
	}},
	{
		"autoregressive (0.6) noise of 10 %",
		func(r *rand.Rand) func(int) float64 { return autoregressive(r, 0.6, 0.1) },
	},
	{
		"autoregressive (0.8) noise of 10 %",
		func(r *rand.Rand) func(int) float64 { return autoregressive(r, 0.8, 0.1) },
	},
	{"one file in ten up to 5 times as long", func(r *rand.Rand) func(int) float64 {
		return func(int) float64 {
			slow := 1.0
			if r.IntN(10) == 0 {
				slow = 1 + 4*r.Float64()
			}
			return slow * math.Exp(0.03*r.NormFloat64())
		}
	}},
	{"phases of 3 to 8 files that take half as long again", func(r *rand.Rand) func(int) float64 {
		left, slow := 8, false
		return func(int) float64 {
			if left--; left < 0 {
				slow, left = !slow, 3+r.IntN(6)
			}
			v := math.Exp(0.03 * r.NormFloat64())
			if slow {
				v *= 1.5
			}
			return v
		}
	}},
}

func autoregressive(r *rand.Rand, phi, sigma float64) func(int) float64 {
	off := sigma * r.NormFloat64()
	return func(int) float64 {
		off = phi*off + math.Sqrt(1-phi*phi)*sigma*r.NormFloat64()
		return math.Exp(off)
	}
}

// TestSlowdownVerdicts counts how often a machine that is merely busy is reported as slowing down.
// It also counts how often a real slowdown is found that begins in the middle third of the files.
// -verdicts.runs=10000 makes the table of docs/explanation/false-alarms.md.
func TestSlowdownVerdicts(t *testing.T) {
	t.Parallel()
	runs := *verdictRuns
	out := &strings.Builder{}
	fmt.Fprintf(out,
		"\nSlowdowns, %% of %d runs of 60 files that fail:\n\n"+
			"| times | steady | 10 %% longer | 30 %% | twice as long |\n"+
			"|---|--:|--:|--:|--:|\n", runs)
	steady, alarms := 0, 0 // of all kinds
	for _, kind := range busy {
		fmt.Fprintf(out, "| %s |", kind.name)
		for _, more := range []float64{0, 0.1, 0.3, 1} {
			n, failed := runs, 0
			if more > 0 {
				n = max(runs/10, 20)
			}
			for seed := range n {
				r := rand.New(rand.NewPCG(uint64(seed), 0x62757379))
				first := 21 + r.IntN(20)
				of := kind.of(r)
				f := throughputOf(
					timedFiles(times(60, func(file int) float64 { return of(file) * from(first, more)(file) }),
						true))
				if f.Verdict == check.Fail {
					failed++
				}
			}
			fmt.Fprintf(out, " %.2f |", share(failed, n))
			if more == 0 {
				steady, alarms = steady+n, alarms+failed
			}
			if most := mostOfKind(n, 0.001); more == 0 && failed > most {
				t.Errorf("%s: %d of %d steady runs fail, want at most %d, which is 0.1 %%", kind.name, failed,
					n, most)
			}
		}
		fmt.Fprintln(out)
	}
	if most := mostByChance(steady, 0.001); alarms > most {
		t.Errorf("%d of all %d steady runs fail, want at most %d, which is 0.1 %%", alarms, steady, most)
	}
	writeTable(t, "slowdowns", out)
}
