package shape

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// drawn returns a random series of n values: of a random kind, and some with gaps, outliers,
// rounded digits and lengths of audio.
func drawn(r *rand.Rand, n int) Series {
	scale := math.Pow(10, float64(r.IntN(9)))
	noise := autoregressive(r, n, 0.9*r.Float64())
	size, at, period, slope := 20*r.NormFloat64(), r.IntN(n+1), 3+r.IntN(10), 0.5*r.Float64()
	kind := r.IntN(6)
	s := Series{Values: made(n, func(i int) float64 {
		v := 100 + noise[i]
		switch kind {
		case 1:
			v += slope * float64(i)
		case 2:
			v += slope * after(i, at)
		case 3:
			v += size * min(1, after(i, at))
		case 4:
			v += size * float64(i%period)
		case 5:
			v += size * (1 - math.Exp(-float64(i)/float64(period)))
		}
		return scale * v
	})}
	if r.IntN(3) == 0 {
		s.Resolution = scale * r.Float64()
		for i, v := range s.Values {
			s.Values[i] = 2 * s.Resolution * math.Round(v/(2*s.Resolution))
		}
	}
	if r.IntN(2) == 0 {
		s.Grain = scale / 100
	}
	if r.IntN(2) == 0 {
		s.Audio = made(n, func(int) float64 { return 60 + 600*r.Float64() })
	}
	for i := range s.Values {
		switch r.IntN(60) {
		case 0:
			s.Values[i] = math.NaN()
		case 1:
			s.Values[i] *= 10
		}
	}
	return s
}

// sizes are the lengths of series near which the method changes: the smallest length, and those at
// which blocks of one, two and three values begin.
var sizes = []int{0, 1, 7, 8, 9, 10, 11, 12, 17, 30, 60, 255, 256, 257, 258, 511, 512, 513, 769}

var propertySeeds = flag.Uint64("property.seeds", 19, "how many series TestProperties draws")

// TestProperties checks properties that every series must have.
func TestProperties(t *testing.T) {
	for seed := range *propertySeeds {
		r := rand.New(rand.NewPCG(seed, 5))
		s := drawn(r, sizes[seed%uint64(len(sizes))])
		t.Run(fmt.Sprintf("%d values, seed %d", len(s.Values), seed), func(t *testing.T) {
			got := Of(s)
			invariants(t, got, s)

			// Adding a constant changes nothing. The constant is a power of 2, so that the sums keep nearly
			// all digits.
			more := s
			more.Values = made(len(s.Values), func(i int) float64 { return s.Values[i] + 1<<20 })
			same(t, "a constant more", Of(more), got, 1)

			// In another unit all amounts scale by the same factor. A power of 2 as the factor keeps the
			// digits.
			for _, unit := range []float64{1 << 20, 1.0 / 1024} {
				scaled := Series{Audio: s.Audio, Resolution: unit * s.Resolution, Grain: unit * s.Grain}
				scaled.Values = made(len(s.Values), func(i int) float64 { return unit * s.Values[i] })
				same(t, fmt.Sprintf("in units of 1/%g", unit), Of(scaled), got, unit)
			}

			// Files without values before the series change only the indexes.
			front := s
			front.Values = append([]float64{math.NaN(), math.NaN(), math.NaN()}, s.Values...)
			if s.Audio != nil {
				front.Audio = append([]float64{60, 60, 60}, s.Audio...)
			}
			moved := Of(front)
			if got.Shape != "" {
				moved.From -= 3
			}
			same(t, "behind three files without a value", moved, got, 1)
		})
	}
}

// same fails the test unless got equals want with all amounts multiplied by unit.
func same(t *testing.T, what string, got, want Result, unit float64) {
	t.Helper()
	if got.Shape != want.Shape || got.Growing != want.Growing || got.From != want.From ||
		got.Period != want.Period ||
		len(got.Outliers) != len(want.Outliers) || got.Phi != want.Phi {
		t.Errorf("%s: got %+v\nwant %+v", what, got, want)
	}
	tolerance := 1e-5 * unit * (math.Abs(want.Sigma) + math.Abs(want.Slope.Estimate))
	for _, c := range [][2]float64{
		{got.Slope.Estimate, want.Slope.Estimate},
		{got.Slope.Low, want.Slope.Low},
		{got.Slope.High, want.Slope.High},
		{got.Rounding, want.Rounding},
		{got.Detectable, want.Detectable},
		{got.Sigma, want.Sigma},
	} {
		if math.Abs(c[0]-unit*c[1]) > tolerance {
			t.Errorf("%s: %g, want %g\ngot %+v\nwant %+v", what, c[0], unit*c[1], got, want)
			return
		}
	}
}

// TestAnyFinite judges series of huge, tiny and almost equal values, with missing or zero lengths
// of audio.
func TestAnyFinite(t *testing.T) {
	for _, n := range []int{8, 11, 30, 257} {
		r := rand.New(rand.NewPCG(uint64(n), 6))
		normal := func(scales ...float64) float64 { return scales[r.IntN(len(scales))] * r.NormFloat64() }
		for name, f := range map[string]func(i int) float64{
			"huge":            func(int) float64 { return normal(1e18) },
			"huge, identical": func(int) float64 { return 1e18 },
			"huge, neighbors": func(int) float64 { return 1e18 + 128*float64(r.IntN(3)) },
			"of 1e100":        func(int) float64 { return normal(1e100) },
			"tiny":            func(int) float64 { return normal(1e-300) },
			"of all sizes":    func(int) float64 { return normal(0, 1e-300, 1e-9, 1, 1e9, 1e18) },
			"a huge leak":     func(i int) float64 { return 1e16 * float64(i) },
			"exponential":     func(i int) float64 { return math.Pow(1.5, float64(i%500)) },
			"a huge step":     func(i int) float64 { return 1e18 * min(1, after(i, n/2)) },
			"a huge outlier":  func(i int) float64 { return 1e18 * float64(max(0, 1-(i-n/2)*(i-n/2))) },
		} {
			s := Series{Values: made(n, f)}
			for _, audio := range []string{"none", "some zeros", "all the same", "in order"} {
				switch audio {
				case "some zeros":
					s.Audio = made(n, func(i int) float64 { return float64(i % 3) })
				case "all the same":
					s.Audio = made(n, func(int) float64 { return 300 })
				case "in order":
					s.Audio = made(n, func(i int) float64 { return 1 + float64(i*i) })
				}
				s.Grain, s.Resolution = 512*float64(r.IntN(2)), 5e6*float64(r.IntN(2))
				invariants(t, Of(s), s)
				if t.Failed() {
					t.Fatalf("%s, %d values, audio %s, grain %g, resolution %g", name, n, audio, s.Grain,
						s.Resolution)
				}
			}
		}
	}
}

// FuzzOf judges arbitrary numbers. Of must not panic, and its results must be finite.
func FuzzOf(f *testing.F) {
	encode := func(values ...float64) []byte {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		return data
	}
	f.Add(encode(1, 2, 3, 4, 5, 6, 7, 8, 9), encode(60, 90), 0.5, 512.0)
	f.Add(encode(1, math.NaN(), 1e18, -1e18, 0, 0, 0, 0, 0, 5e-324, 1), encode(0, 1), 0.0, 0.0)
	f.Add(encode(made(300, func(i int) float64 { return float64(i % 7) })...),
		encode(300, 300, 300.001), 1.0, 0.0)
	f.Fuzz(func(t *testing.T, values, audio []byte, resolution, grain float64) {
		const most = 1e100 // squares of larger values overflow
		decode := func(data []byte) (v []float64) {
			for ; len(data) >= 8 && len(v) < 1000; data = data[8:] {
				x := math.Float64frombits(binary.LittleEndian.Uint64(data))
				v = append(v, min(most, max(-most, x)))
			}
			return v
		}
		digit := func(x float64) float64 {
			if math.IsNaN(x) {
				return 0
			}
			return min(most, math.Abs(x))
		}
		s := Series{Values: decode(values), Resolution: digit(resolution), Grain: digit(grain)}
		if lengths := decode(audio); len(lengths) > 0 {
			s.Audio = made(len(s.Values), func(i int) float64 { return lengths[i%len(lengths)] })
		}
		invariants(t, Of(s), s)
	})
}
