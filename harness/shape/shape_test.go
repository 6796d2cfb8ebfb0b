package shape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const mib = 1 << 20

// bytes returns a series of n exact values, which f gives by index.
func bytes(n int, f func(i int) float64) Series {
	return Series{Values: made(n, f), Grain: 512}
}

// byAudio returns a series of levels: 100 MiB, plus 0.1 MiB for each second of audio, plus a leak
// of leak MiB a file. The audio gets roughly longer from file to file.
func byAudio(n int, leak float64) Series {
	seconds := made(n, func(i int) float64 { return 300 + 50*float64(i) + 120*float64(i*7%5) })
	s := bytes(n, func(i int) float64 { return mib * (100 + 0.1*seconds[i] + leak*float64(i)) })
	s.Audio = seconds
	return s
}

// after returns how many files have leaked by file i, if the leak begins after file start.
func after(i, start int) float64 { return float64(max(0, i-start)) }

// TestOf judges series with little or no noise. The expected results are the parameters from which
// the series were made.
func TestOf(t *testing.T) {
	gaps := func(s Series, every int) Series {
		for i := range s.Values {
			if i%every == 1 {
				s.Values[i] = math.NaN()
			}
		}
		return s
	}
	r := rand.New(rand.NewPCG(3, 4))
	noise := made(100_000, func(int) float64 { return mib / 8 * r.NormFloat64() })
	for _, c := range []struct {
		name   string
		series Series
		// Only Shape, Growing, From, Size, Period, FollowsAudio, PerSecond, Ordered and Files are
		// compared.
		want  Result
		slope float64 // the slope it was made with
	}{
		{"nothing", Series{}, Result{}, 0},
		{"7 values", bytes(7, func(i int) float64 { return mib * float64(i) }), Result{Files: 7}, 0},
		{"7 values among 100", Series{Values: with(made(100, func(int) float64 { return math.NaN() }),
			map[int]float64{
				3: 1, 9: 2, 20: 3, 30: 4, 31: 5, 32: 6, 99: 7,
			})}, Result{Files: 7}, 0},
		{
			"8 values that grow", bytes(8, func(i int) float64 { return mib * (100 + float64(i)) }),
			Result{Shape: Flat, Growing: true},
			mib,
		},
		{
			"8 values that do not", bytes(8, func(int) float64 { return 100 * mib }),
			Result{Shape: Flat},
			0,
		},
		{"constant", bytes(50, func(int) float64 { return 100 * mib }), Result{Shape: Flat}, 0},
		{"all 0", bytes(50, func(int) float64 { return 0 }), Result{Shape: Flat}, 0},
		{
			"constant, with no grain",
			Series{Values: made(50, func(int) float64 { return 0.1 })},
			Result{Shape: Flat},
			0,
		},
		{
			"two values in turn", bytes(50, func(i int) float64 { return mib * (100 + 30*float64(i%2)) }),
			Result{Shape: Flat},
			0,
		},
		{
			"an exact leak", bytes(50, func(i int) float64 { return mib * (100 + 4*float64(i)) }),
			Result{Shape: Flat, Growing: true},
			4 * mib,
		},
		{
			"an exact leak of one allocation", bytes(50,
				func(i int) float64 { return 100*mib + 512*float64(i) }),
			Result{Shape: Flat, Growing: true},
			512,
		},
		{
			"and on a large device", bytes(50, func(i int) float64 { return 8e10 + 512*float64(i) }),
			Result{Shape: Flat, Growing: true},
			512,
		},
		{
			"a fall", bytes(50, func(i int) float64 { return mib * (500 - 4*float64(i)) }),
			Result{Shape: Flat},
			-4 * mib,
		},
		{
			"a leak from file 25 on", bytes(50, func(i int) float64 { return mib * (100 + 4*after(i, 25)) }),
			Result{Shape: Flat, Growing: true, From: 26},
			4 * mib,
		},
		{
			"a leak with gaps", gaps(bytes(60, func(i int) float64 { return mib * (100 + 4*float64(i)) }),
				3),
			Result{Shape: Flat, Growing: true},
			4 * mib,
		},
		{
			"a leak from file 30 on with gaps", gaps(bytes(60,
				func(i int) float64 { return mib * (100 + 4*after(i, 30)) }), 4),
			Result{Shape: Flat, Growing: true, From: 31},
			4 * mib,
		},
		{
			"an even warm-up", bytes(50, func(i int) float64 {
				return mib * (100 +
					30*min(float64(i), 10))
			}),
			Result{Shape: WarmUp, From: 10, Size: 300 * mib},
			0,
		},
		{
			"an even warm-up, then a leak", bytes(50, func(i int) float64 {
				return mib * (100 +
					30*min(float64(i), 10) + 2*float64(i))
			}),
			Result{Shape: WarmUp, Growing: true, From: 10, Size: 300 * mib},
			2 * mib,
		},
		{
			"a warm-up that decays", bytes(60, func(i int) float64 {
				return mib * (100 +
					300*(1-math.Exp(-float64(i)/4)))
			}),
			Result{Shape: WarmUp, From: 12, Size: 300 * mib},
			0, // 5 % are left after 3 time constants of 4 files
		},
		{
			"a warm-up of one file", bytes(50, func(i int) float64 {
				return mib * (100 +
					300*min(float64(i), 1))
			}),
			Result{Shape: WarmUp, From: 1, Size: 300 * mib},
			0,
		},
		{
			"one step", bytes(50, func(i int) float64 { return mib * (100 + 300*min(1, after(i, 29))) }),
			Result{Shape: Step, From: 30, Size: 300 * mib},
			0,
		},
		{
			"one step down with gaps", gaps(bytes(50, func(i int) float64 {
				return mib * (500 - 300*min(1,
					after(i, 29)))
			}), 7),
			Result{Shape: Step, From: 30, Size: -300 * mib},
			0,
		},
		{
			"one step, and a leak", bytes(50, func(i int) float64 {
				return mib * (100 +
					300*min(1, after(i, 29)) + 4*float64(i))
			}),
			Result{Shape: Step, Growing: true, From: 30, Size: 300 * mib},
			4 * mib,
		},
		{
			"two steps", bytes(60, func(i int) float64 {
				return mib * (100 + 300*min(1, after(i, 19)) +
					200*min(1, after(i, 39)))
			}),
			Result{Shape: Steps, From: 20, Size: 500 * mib},
			0,
		},
		{
			"a sawtooth", bytes(50, func(i int) float64 { return mib * (100 + 8*float64((i+2)%5)) }),
			Result{Shape: Sawtooth, Period: 5, Size: 32 * mib},
			0,
		},
		{
			"a sawtooth on a leak", bytes(50, func(i int) float64 {
				return mib * (100 + 8*float64(i%10) +
					float64(i))
			}),
			Result{Shape: Sawtooth, Growing: true, Period: 10, Size: 72 * mib},
			mib,
		},
		{
			"a sawtooth without its second file",
			Series{Values: with(made(60, func(i int) float64 {
				return mib * (100 + 8*float64(i%5))
			}), map[int]float64{1: math.NaN()}), Grain: 512},
			Result{Shape: Sawtooth, Period: 5, Size: 32 * mib, Files: 59},
			0,
		},
		{
			"follows the audio, sorted by length", byAudio(50, 0),
			Result{Shape: Flat, FollowsAudio: true, PerSecond: 0.1 * mib, Ordered: true},
			0,
		},
		{
			"follows the audio, sorted by length, and leaks", byAudio(50, 4),
			Result{Shape: Flat, Growing: true, FollowsAudio: true, PerSecond: 0.1 * mib, Ordered: true},
			4 * mib,
		},
		{
			"300 values, the last 50 leak", bytes(300, func(i int) float64 {
				return mib*(100+after(i, 250)) +
					noise[i]
			}),
			Result{Shape: Flat, Growing: true, From: 250},
			mib,
		},
		{
			"100,000 values, the last 100 leak", bytes(100_000,
				func(i int) float64 { return mib*(100+after(i, 99_900)) + noise[i] }),
			Result{Shape: Flat, Growing: true, From: 99_900},
			mib,
		},
		{
			"100,000 values, half of them missing, the last 100 leak",
			gaps(bytes(100_000, func(i int) float64 { return mib*(100+after(i, 99_900)) + noise[i] }), 2),
			Result{Shape: Flat, Growing: true, From: 99_900, Files: 50_000},
			mib,
		},
		{
			"100,000 values that leak one allocation every 8",
			bytes(100_000, func(i int) float64 { return 8e10 + 512*float64(i/8) }),
			Result{Shape: Flat, Growing: true},
			64,
		},
		{
			"100,000 values that do not", bytes(100_000, func(i int) float64 { return 100*mib + noise[i] }),
			Result{Shape: Flat},
			0,
		},
		{
			"100,000 values with a step", bytes(100_000,
				func(i int) float64 { return mib * (100 + 300*min(1, after(i, 49_999))) }),
			Result{Shape: Step, From: 50_000, Size: 300 * mib},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want.Files == 0 {
				for _, v := range c.series.Values {
					if !math.IsNaN(v) {
						c.want.Files++
					}
				}
			}
			got := Of(c.series)
			invariants(t, got, c.series)
			got.Fitted = nil // up to 100,000 numbers would fill the message
			// Indexes must be exact or, in a series of blocks, known to within two blocks.
			block := max(1, blockSize(got.Files))
			if got.Shape != c.want.Shape || got.Growing != c.want.Growing || got.Period != c.want.Period ||
				got.Files != c.want.Files ||
				max(got.From, c.want.From)-min(got.From, c.want.From) >= 2*block || block == 1 &&
				got.From != c.want.From {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
			if got.FollowsAudio != c.want.FollowsAudio || got.Ordered != c.want.Ordered ||
				!near(got.PerSecond, c.want.PerSecond, 1e-3) {
				t.Errorf("audio %v, %g a second, ordered %v; want %v, %g, %v", got.FollowsAudio, got.PerSecond,
					got.Ordered,
					c.want.FollowsAudio, c.want.PerSecond, c.want.Ordered)
			}
			if !near(got.Size, c.want.Size, 0.01) {
				t.Errorf("size %g, made with %g", got.Size, c.want.Size)
			}
			slack := 0.0
			if c.want.Shape == WarmUp { // its time constant comes from a grid, and is slightly off
				slack = c.want.Size / 5000
			}
			if got.Slope.Low-slack > c.slope || c.slope > got.Slope.High+slack || c.slope != 0 &&
				!near(got.Slope.Estimate, c.slope, 0.01) {
				t.Errorf("slope %+v, made with %g", got.Slope, c.slope)
			}
			if len(got.Outliers) > 0 {
				t.Errorf("outliers %v", got.Outliers)
			}
		})
	}
}

// invariants checks what must hold for every result.
func invariants(t testing.TB, r Result, s Series) {
	t.Helper()
	for _, v := range []float64{
		r.Slope.Low, r.Slope.Estimate, r.Slope.High, r.Rounding, r.Detectable, r.Size, r.PerSecond, r.Phi,
		r.Sigma,
	} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("not finite: %+v", r)
			break
		}
	}
	if !(r.Slope.Low <= r.Slope.Estimate && r.Slope.Estimate <= r.Slope.High) || r.Rounding < 0 ||
		r.Detectable < 0 || r.Sigma < 0 {
		t.Errorf("the estimate is not within its bounds, or something is below 0: %+v", r)
	}
	if r.Growing && !(r.Slope.Estimate > 0) {
		t.Errorf("grows by %g", r.Slope.Estimate)
	}
	if (r.Shape == "") != (r.Files < LeastFiles) || (r.Period > 0) != (r.Shape == Sawtooth) {
		t.Errorf("shape %q of %d files with a period of %d", r.Shape, r.Files, r.Period)
	}
	if r.Shape != "" && len(r.Fitted) != len(s.Values) {
		t.Errorf("%d of %d fitted", len(r.Fitted), len(s.Values))
	}
	present := func(i int) bool { return i >= 0 && i < len(s.Values) && !math.IsNaN(s.Values[i]) }
	if r.Shape != "" && !present(r.From) {
		t.Errorf("From %d is no value", r.From)
	}
	for i, v := range r.Fitted {
		if math.IsInf(v, 0) || math.IsNaN(v) && present(i) && r.Files <= valuesMax || !math.IsNaN(v) &&
			!present(i) {
			t.Errorf("fitted %g at %d, where %g was seen", v, i, s.Values[i])
			break
		}
	}
	if !slices.IsSorted(r.Outliers) || slices.ContainsFunc(r.Outliers,
		func(i int) bool { return !present(i) }) {
		t.Errorf("outliers %v", r.Outliers)
	}
}

// TestOfAudioAsEvenAsALine: if each file is longer than the last by the same length, growth cannot
// be separated from the effect of the audio. The growth may be the whole slope, or nothing.
func TestOfAudioAsEvenAsALine(t *testing.T) {
	for _, c := range []struct {
		name       string
		step, grow float64 // seconds and bytes per file
	}{
		{"longer and longer", 60, 6 * mib},
		{"shorter and shorter", -10, -mib},
		{"not following it", 60, 0},
	} {
		s := bytes(30, func(i int) float64 { return 500*mib + c.grow*float64(i) })
		s.Audio = made(30, func(i int) float64 { return 600 + c.step*float64(i) })
		r := Of(s)
		invariants(t, r, s)
		if r.Growing || !r.Ordered || r.Slope.Low > min(0, c.grow) || r.Slope.High < max(0, c.grow) ||
			!near(r.Slope.Estimate, c.grow, 1e-6) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if r.Detectable < math.Abs(c.grow) {
			t.Errorf("%s: as much as %g could not be detected, and %g could", c.name, c.grow, r.Detectable)
		}
		if !r.FollowsAudio || !near(r.PerSecond, c.grow/c.step, 1e-6) {
			t.Errorf("%s: %g a second", c.name, r.PerSecond)
		}
	}
}

// TestOfAudioThatHardlyDiffers: all files are equally long, except that the last is a little
// longer, by up to 10 ms.
func TestOfAudioThatHardlyDiffers(t *testing.T) {
	for n := LeastFiles; n < 40; n++ {
		for _, more := range []float64{1e-5, 1e-4, 1e-3, 1e-2} {
			s := bytes(n, func(i int) float64 { return mib * (100 + float64(i%2)) })
			s.Audio = with(made(n, func(int) float64 { return 300 }), map[int]float64{n - 1: 300 + more})
			r := Of(s)
			invariants(t, r, s)
			if r.Growing {
				t.Errorf("%d files, %g s: %+v", n, more, r)
			}
		}
	}
}

// TestOfFitted: without noise the fitted shape equals the series.
func TestOfFitted(t *testing.T) {
	for name, s := range map[string]Series{
		"a late leak": bytes(50, func(i int) float64 { return mib * (100 + 4*after(i, 25)) }),
		"a step":      bytes(50, func(i int) float64 { return mib * (100 + 300*min(1, after(i, 29))) }),
		"by audio":    byAudio(50, 4),
	} {
		for i, v := range Of(s).Fitted {
			if math.Abs(v-s.Values[i]) > 512 {
				t.Errorf("%s: fitted %g at %d, where %g was seen", name, v, i, s.Values[i])
				break
			}
		}
	}
}

func TestOfOutliers(t *testing.T) {
	s := bytes(60, func(i int) float64 { return mib * (100 + 4*float64(i)) })
	s.Values[10] = math.NaN() // indexes count missing values too
	s.Values[20] += 500 * mib
	s.Values[40] += 300 * mib
	r := Of(s)
	invariants(t, r, s)
	if !r.Growing || !slices.Equal(r.Outliers, []int{20, 40}) || !near(r.Slope.Estimate, 4*mib, 0.01) {
		t.Errorf("%+v", r)
	}
}

// TestOfRounded: if the log's digits hide a leak of a tenth of a digit a file, the series looks
// like a staircase.
func TestOfRounded(t *testing.T) {
	const digit = 1e7
	s := Series{
		Values:     made(60, func(i int) float64 { return 1e9 + digit*math.Round(float64(i)/10) }),
		Resolution: digit / 2, Grain: 512,
	}
	r := Of(s)
	invariants(t, r, s)
	if !r.Growing || r.Slope.Low > digit/10 || r.Slope.High < digit/10 || r.Rounding <= 0 ||
		r.Rounding > digit/59 {
		t.Errorf("%+v", r)
	}
}

// TestOfNoise judges two series. In the first, 50 values lie in turn 1 below and 1 above a level,
// so their squares add up to 50. By hand, a line explains 25² / 10412.5 of that sum and leaves 48
// degrees of freedom. Neighbours differ, so phi is 0. The second series was made with a standard
// deviation of 1 and an autocorrelation of 0.6. The estimates from its 200 values have standard
// errors of 0.06 and 0.1.
func TestOfNoise(t *testing.T) {
	inTurn := Of(Series{Values: made(50, func(i int) float64 { return 100 + float64(2*(i%2)-1) })})
	if inTurn.Phi != 0 || !near(inTurn.Sigma, math.Sqrt((50-625/10412.5)/48), 1e-9) {
		t.Errorf("in turn: phi %g, sigma %g", inTurn.Phi, inTurn.Sigma)
	}
	r := Of(Series{Values: autoregressive(rand.New(rand.NewPCG(1, 3)), 200, 0.6)})
	if math.Abs(r.Phi-0.6) > 0.2 || math.Abs(r.Sigma-1) > 0.3 {
		t.Errorf("phi %g, sigma %g; made with 0.6 and 1", r.Phi, r.Sigma)
	}
}

func TestPresent(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		values, audio []float64
		want          []float64
		wantAudio     []float64
		index         []int
	}{
		{"all", []float64{1, 2}, []float64{60, 90}, []float64{1, 2}, []float64{60, 90}, []int{0, 1}},
		{
			"gaps",
			[]float64{nan, 1, nan, 2, nan},
			[]float64{10, 20, 30, 40, 50},
			[]float64{1, 2},
			[]float64{20, 40},
			[]int{1, 3},
		},
		{"no audio", []float64{1, nan, 2}, nil, []float64{1, 2}, nil, []int{0, 2}},
		{
			"audio not known of one",
			[]float64{1, 2},
			[]float64{60, nan},
			[]float64{1, 2},
			nil,
			[]int{0, 1},
		},
		{"audio of 0", []float64{1, 2}, []float64{0, 60}, []float64{1, 2}, nil, []int{0, 1}},
		{
			"audio not known where there is no value",
			[]float64{1, nan},
			[]float64{60, nan},
			[]float64{1},
			[]float64{60},
			[]int{0},
		},
		{"nothing", []float64{nan}, []float64{60}, nil, nil, nil},
	} {
		got, index := present(Series{Values: c.values, Audio: c.audio, Resolution: 5, Grain: 7})
		if !slices.Equal(got.Values, c.want) || !slices.Equal(got.Audio, c.wantAudio) ||
			!slices.Equal(index, c.index) ||
			got.Resolution != 5 || got.Grain != 7 {
			t.Errorf("%s: %+v %v", c.name, got, index)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		n, blocks   int
		first, last float64
	}{
		{0, 0, 0, 0},
		{255, 255, 0, 254},
		{256, 256, 0, 255},
		{257, 85, 1, 253}, // blocks of 3, and a rest of two values
		{512, 128, 1.5, 509.5},
		{513, 102, 2, 507},             // blocks of 5
		{100_000, 127, 390.5, 98922.5}, // of 782: (0 + 781) / 2, and (126*782 + 127*782 - 1) / 2
	} {
		got := blocks(made(c.n, func(i int) float64 { return float64(i) }))
		if len(got) != c.blocks || c.n > 0 && (got[0] != c.first || got[len(got)-1] != c.last) {
			t.Errorf("%d values: %d blocks, %v ... %v", c.n, len(got), got[0], got[len(got)-1])
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for _, n := range []int{60, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			noise := autoregressive(r, n, 0.6)
			s := bytes(n, func(i int) float64 { return mib * (200 + 20*noise[i]) })
			s.Audio = made(n, func(int) float64 { return 240 + 120*r.Float64() })
			b.SetBytes(int64(8 * n))
			b.ReportAllocs()
			for b.Loop() {
				Of(s)
			}
		})
	}
}

// TestUnevenLeak: a leak of what each file happens to need begins with the first file, also if it
// is faster or slower for a while. With a large warm-up before it, it begins when the warm-up ends.
func TestUnevenLeak(t *testing.T) {
	const tries = 100
	for _, files := range []int{50, 90, 200} {
		for _, warmUp := range []float64{0, 4000} {
			first, last := 0, 0
			if warmUp > 0 {
				first, last = 8, 12
			}
			right := 0
			for seed := range uint64(tries) {
				r := rand.New(rand.NewPCG(seed, 7))
				kept := 0.0
				result := Of(bytes(files, func(i int) float64 {
					kept += 3.6 + 3.6*r.Float64()
					return mib * (1000 + warmUp*float64(min(i, 10))/10 + kept)
				}))
				if result.Growing && result.From >= first && result.From <= last {
					right++
				}
			}
			if right < tries*95/100 {
				t.Errorf("%d files, a warm-up of %.0f MiB: %d of %d leaks begin at the right file",
					files, warmUp, right, tries)
			}
		}
	}
}
