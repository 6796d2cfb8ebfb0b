package audio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tone returns n samples of a sine with an amplitude of 0.5.
func tone(hertz float64, rate, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(0.5 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return s
}

func resample(in []float32, from int) []float32 {
	r := newResampler(from, Rate)
	return r.flush(r.push(nil, in))
}

// inside removes a tenth of a second at both ends, where the filter sees the silence before and
// after the signal.
func inside(s []float32) []float32 { return s[Rate/10 : len(s)-Rate/10] }

// TestResampleKeepsTone compares a resampled tone with a sine computed at the new rate. The limit
// of 2e-4 is -68 dB of the amplitude. The filter removes 80 dB, but what remains of several bands
// adds up. 44056 Hz (old NTSC video recorders) and 16000 Hz have only 8 as greatest common divisor.
func TestResampleKeepsTone(t *testing.T) {
	for _, rate := range []int{
		8000, 11025, 12000, 16000, 22050, 24000, 32000, 44056, 44100, 48000,
		88200, 96000, 176400, 192000,
	} {
		for _, hertz := range []float64{100, 1000, 3400} {
			t.Run(fmt.Sprintf("%g Hz at %d", hertz, rate), func(t *testing.T) {
				got := resample(tone(hertz, rate, rate), rate)
				if len(got) != Rate {
					t.Fatalf("one second became %d samples, want %d", len(got), Rate)
				}
				for i, want := range inside(tone(hertz, Rate, Rate)) {
					if x := inside(got)[i]; math.Abs(float64(x-want)) > 2e-4 {
						t.Fatalf("sample %d is %g, want %g", i+Rate/10, x, want)
					}
				}
			})
		}
	}
}

// TestResampleSuppressesAliases: a tone above half the new sample rate must not become a lower
// tone. A factor of 1000 in amplitude is 60 dB.
func TestResampleSuppressesAliases(t *testing.T) {
	for _, tt := range []struct {
		hertz float64
		rate  int
	}{
		{10000, 44100},
		{8100, 44100},
		{15000, 44100},
		{10000, 48000},
		{23000, 48000},
		{60000, 192000},
	} {
		peak := 0.0
		for _, x := range inside(resample(tone(tt.hertz, tt.rate, tt.rate), tt.rate)) {
			peak = max(peak, math.Abs(float64(x)))
		}
		if peak > 0.5/1000 {
			t.Errorf("%g Hz at %d Hz left %.1f dB, want below -60", tt.hertz, tt.rate,
				20*math.Log10(peak/0.5))
		}
	}
}

func TestResampleKeepsLevel(t *testing.T) {
	in := make([]float32, 44100)
	for i := range in {
		in[i] = 0.25
	}
	for i, x := range inside(resample(in, 44100)) {
		if math.Abs(float64(x)-0.25) > 1e-5 {
			t.Fatalf("sample %d of a constant 0.25 is %g", i, x)
		}
	}
}

// TestResampleLength: n samples become n*up/down, rounded up. 441 samples at 44.1 kHz are 10 ms,
// which is 160 samples.
func TestResampleLength(t *testing.T) {
	for _, tt := range []struct{ rate, in, want int }{
		{44100, 441, 160},
		{44100, 442, 161},
		{44100, 1, 1},
		{48000, 3, 1},
		{48000, 4, 2},
		{8000, 5, 10},
		{192000, 0, 0},
	} {
		if got := len(resample(make([]float32, tt.in), tt.rate)); got != tt.want {
			t.Errorf("%d samples at %d Hz became %d, want %d", tt.in, tt.rate, got, tt.want)
		}
	}
}

func TestResampleBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []int{8000, 16000, 44100, 191999} {
		in := tone(440, rate, 20000)
		want := resample(in, rate)
		r := newResampler(rate, Rate)
		var got []float32
		for rest := in; len(rest) > 0; {
			n := min(rng.IntN(700), len(rest))
			got = r.push(got, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, r.flush(got)); diff != "" {
			t.Errorf("%d Hz in blocks differs from %d Hz at once (-want +got):\n%s", rate,
				rate, diff)
		}
	}
}

func BenchmarkDecodeWAV(b *testing.B) {
	for _, rate := range []uint32{16000, 44100, 48000} {
		file := riff(format(1, 2, rate, 16), data(make([]byte, 4*rate*10)))
		b.Run(fmt.Sprintf("10s-stereo-%d", rate), func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if _, err := decodeWAV(bytes.NewReader(file)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
