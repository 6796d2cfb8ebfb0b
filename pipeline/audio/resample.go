package audio

import "math"

// The low-pass filter of the resampler. Frequencies are relative to half the lower of the two
// sample rates: the filter keeps everything below 7/8 and removes everything above 1 (-80 dB). At
// 16 kHz the transition is from 7 to 8 kHz.
//
// The length and shape follow Kaiser's formulas (A. Oppenheim and R. Schafer, "Discrete-Time Signal
// Processing", section 7.5.3): for an attenuation of A dB, beta = 0.1102 (A - 8.7), and the length
// is (A - 7.95) / (14.36 df), where df is the width of the transition relative to the sample rate.
// Here df is 1/16 of the lower rate, so the filter has 80.3 samples of that rate.
const (
	attenuation = 80.0     // dB
	cutoff      = 15. / 16 // middle of the transition from 7/8 to 1
	halfLength  = 40       // samples at the lower rate on each side
)

// resampler converts a stream of samples from one rate to another with a polyphase windowed-sinc
// filter. Output n lies at input n*down/up, usually between two inputs. There are `up` different
// positions between two inputs, and each needs its own set of filter weights (taps). A set is
// computed when it is first needed: rates without a common divisor have thousands of sets, and a
// short file needs few of them.
//
// The filter is centered: it neither delays nor lengthens the signal. It assumes silence before and
// after the signal.
type resampler struct {
	up, down int         // the new rate over the old one, in lowest terms
	half     int         // taps on each side of a position
	scale    float64     // cutoff in cycles per input sample, times 2
	phases   [][]float32 // taps by n*down mod up, nil until needed
	history  []float32   // the latest inputs; history[0] is input number first
	first    int64       // number of history[0] in the stream
	seen     int64       // inputs so far
	next     int64       // index of the next output
}

func newResampler(from, to int) *resampler {
	g := gcd(from, to)
	r := &resampler{up: to / g, down: from / g}
	if r.up == r.down {
		return r
	}
	lower := min(1, float64(to)/float64(from)) // the lower rate divided by the input's rate
	r.half = int(math.Ceil(halfLength / lower))
	r.scale = cutoff * lower
	r.phases = make([][]float32, r.up)
	r.history = make([]float32, r.half-1) // silence before the first sample
	r.first = -int64(r.half - 1)
	return r
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// push takes the next samples of the stream. It appends to out the outputs that can now be
// computed, and returns out.
func (r *resampler) push(out, in []float32) []float32 {
	if r.up == r.down {
		return append(out, in...)
	}
	r.history = append(r.history, in...)
	r.seen += int64(len(in))
	return r.run(out, r.seen)
}

// flush ends the stream. It appends the outputs that waited for later samples, and returns out. n
// inputs give n*up/down outputs in all, rounded up.
func (r *resampler) flush(out []float32) []float32 {
	if r.up == r.down {
		return out
	}
	r.history = append(r.history, make([]float32, r.half)...)
	return r.run(out, r.seen+int64(r.half))
}

// run appends each output that needs only inputs before number limit, and returns out. It drops
// inputs that no later output needs.
func (r *resampler) run(out []float32, limit int64) []float32 {
	for {
		place := r.next * int64(r.down)
		left := place / int64(r.up)
		if left+int64(r.half) >= limit {
			break
		}
		taps := r.taps(int(place % int64(r.up)))
		window := r.history[left-int64(r.half-1)-r.first:][:len(taps)]
		var sum float32
		for i, x := range window {
			sum += x * taps[i]
		}
		out = append(out, sum)
		r.next++
	}
	keep := r.next*int64(r.down)/int64(r.up) - int64(r.half-1)
	if drop := min(keep-r.first, int64(len(r.history))); drop > 0 {
		r.history = r.history[:copy(r.history, r.history[drop:])]
		r.first += drop
	}
	return out
}

// taps returns the weights of 2*half inputs for an output. The output lies phase/up of a sample
// after the input with index half-1. The sum of the weights is 1, so that a constant signal keeps
// its level.
func (r *resampler) taps(phase int) []float32 {
	if r.phases[phase] != nil {
		return r.phases[phase]
	}
	const beta = 0.1102 * (attenuation - 8.7)
	weights := make([]float64, 2*r.half)
	sum := 0.0
	for i := range weights {
		t := float64(i-(r.half-1)) - float64(phase)/float64(r.up) // input samples from the position
		x := t / float64(r.half)
		weights[i] = sinc(r.scale*t) * bessel(beta*math.Sqrt(max(0, 1-x*x)))
		sum += weights[i]
	}
	taps := make([]float32, len(weights))
	for i, weight := range weights {
		taps[i] = float32(weight / sum)
	}
	r.phases[phase] = taps
	return taps
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel returns the modified Bessel function of the first kind and order 0, by its power series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-12*sum; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}
