package shape

import "math"

// unrounded returns the smallest and the largest slope that rounding may have turned into the given
// slope of a model. There are two bounds, and the better one counts:
//
//   - The means of the two halves may be off in opposite directions. That changes the slope of n
//     files by 3n/(n²-1) times the error of a mean. The error is small if noise carries values to
//     other digits, because rounding is then one more independent noise.
//   - If the level follows a straight line, rounding turns the line into a staircase in the worst
//     case, and into a wave if noise is large enough: see [fitter.staircase] and [fitter.wave].
//     What follows the audio's length is noise in that respect, so such a level counts as a line.
func (b *fitter) unrounded(m *model, slope, resolution float64) (low, high float64) {
	if resolution == 0 {
		return slope, slope
	}
	hidden := b.hidden(m, resolution)
	off := b.tilt(m, hidden)
	low, high = slope-off, slope+off
	if m.shape == Flat && m.searched == 0 {
		steeper := b.staircase
		if hidden <= waveMax*resolution {
			steeper = func(slope, resolution float64) float64 {
				return b.wave(slope, resolution, hidden)
			}
		}
		low, high = max(low, -steeper(-slope, resolution)), min(high, steeper(slope, resolution))
	}
	return low, high
}

// tilt returns how far the slope of a model is off if the means of the two halves are off by hidden
// in opposite directions.
func (b *fitter) tilt(m *model, hidden float64) float64 {
	n := max(2, b.files(m))
	return 3 * n / (n*n - 1) * hidden
}

// These are how finely staircase tries slopes and levels, in parts of a digit over the whole
// series, and how many times it then halves the distance between two slopes.
const (
	slopeSteps = 20
	levelSteps = 20
	halvings   = 10
)

// staircase returns the steepest growth that may print values with the given slope, whatever the
// noise is. Noise moves where the mean of the printed values rises from one digit to the next. The
// mean rises by a whole digit for each digit of growth in any case. So the worst case is a mean
// that rises in steps of a digit, because noise is small, or takes turns between two values. A rise
// of less than a digit may then be hidden. A rise of 1.2 digits shows as 0.8 at least.
func (b *fitter) staircase(slope, resolution float64) float64 {
	unit := 2 * resolution / (b.x[len(b.x)-1] - b.x[0])
	// No staircase is off by more than 1.5 digits, which is what a step in the middle shows.
	for more := 3 * slopeSteps / 2; more >= 0; more-- {
		steep := slope + unit*float64(more)/slopeSteps
		if more > 0 && b.flattest(steep, resolution) > slope {
			continue
		}
		steeper := steep + unit/slopeSteps
		for range halvings {
			if middle := (steep + steeper) / 2; b.flattest(middle, resolution) > slope {
				steeper = middle
			} else {
				steep = middle
			}
		}
		return steep
	}
	return slope
}

// flattest returns the smallest slope, by least squares, that values may print which rise by slope
// a file and have no noise. It depends on where the level lies between two digits.
func (b *fitter) flattest(slope, resolution float64) float64 {
	digit, middle, squares := 2*resolution, 0.0, 0.0
	for _, x := range b.x {
		middle += x / float64(len(b.x))
	}
	for _, x := range b.x {
		squares += (x - middle) * (x - middle)
	}
	least := math.Inf(1)
	for level := range levelSteps {
		printed := 0.0
		for _, x := range b.x {
			// A level at the edge between two digits may still print the lower one.
			steps := math.Floor((1-1e-9)*(x-middle)*slope/digit + float64(level)/levelSteps)
			printed += (x - middle) * steps
		}
		least = min(least, printed*digit/squares)
	}
	return least
}

// waveMax is the largest error of a mean, in half digits, for which the error is a sine of the
// level. The next term of the Fourier series is then at most a twentieth of it.
const waveMax = 0.2

// wave returns the steepest growth that may print values with the given slope, if the mean of
// rounded readings is off by hidden times the sine of the level, in digits. The sine takes from the
// slope or adds to it, depending on the phase. Over a rise of u digits the effect is at most
//
//	hidden/n * 12 |2 sin(πu)/(2πu)² - cos(πu)/(2πu)|
//
// which is the covariance of the sine and the line, over the variance of the line. The largest
// effect is 2.6 hidden/n, at 0.65 digits.
func (b *fitter) wave(slope, resolution, hidden float64) float64 {
	rise := b.x[len(b.x)-1] - b.x[0]
	for step := slopeSteps; step > 0; step-- {
		steeper := slope + 3*hidden/rise*float64(step)/slopeSteps
		a := 2 * math.Pi * math.Abs(steeper) * rise / (2 * resolution)
		effect := 12 * math.Abs(2*math.Sin(a/2)/(a*a)-math.Cos(a/2)/a)
		if steeper-hidden*effect/rise <= slope {
			return steeper
		}
	}
	return slope
}

// farDigits is how far noise must carry a value from the fitted shape, in digits, to show that
// rounding is independent noise. Noise that moves values between two neighbouring digits only
// carries them half a digit from their mean; noise that reaches a third digit, a whole one.
const farDigits = 0.75

// kurtosisMin is the smallest kurtosis of residuals that are taken for rounded normal noise. Normal
// noise has a kurtosis of 3, and 1.7 or more in 96 % of simulated series of 50 values with noise of
// half a digit. Noise of only two values has 1. It is below 1.7 in 15 to 66 % of such series if the
// two values are a digit apart, and in nearly all if they are two digits apart.
const kurtosisMin = 1.7

// The noise is a pattern, and rounding depends on it, if values alternate: a correlation between
// values up to patternLags files apart is below patternMin. In 50 values of white noise the
// correlations have a standard deviation of 0.14.
const (
	patternLags = 10
	patternMin  = -0.5
)

// hidden returns how far the mean of rounded readings may be off. It is half a digit if the
// residuals of the model do not show that rounding is independent noise. Otherwise the result is
// that of the function [hidden], as the mean over the two halves of the series, because noise may
// become smaller.
func (b *fitter) hidden(m *model, resolution float64) float64 {
	e := make([]float64, len(b.y))
	for i := range e {
		e[i] = b.y[i] - m.at(i)
	}
	if largest(e) < 2*farDigits*resolution || kurtosis(e) < kurtosisMin || alternates(e) {
		return resolution
	}
	half := len(e) / 2
	return (hidden(resolution, deviation(e[:half])) + hidden(resolution, deviation(e[half:]))) / 2
}

// alternates reports whether the residuals e form a pattern: see patternMin.
func alternates(e []float64) bool {
	squares := 0.0
	for _, v := range e {
		squares += v * v
	}
	for lag := 1; lag <= min(patternLags, len(e)/2); lag++ {
		products := 0.0
		for i := lag; i < len(e); i++ {
			products += e[i] * e[i-lag]
		}
		if products < patternMin*squares {
			return true
		}
	}
	return false
}

// kurtosis returns the mean fourth power of e over the square of its mean square.
func kurtosis(e []float64) float64 {
	squares, fourth := 0.0, 0.0
	for _, v := range e {
		squares += v * v
		fourth += v * v * v * v
	}
	return fourth * float64(len(e)) / (squares * squares)
}

// deviation returns the root of the mean square of e.
func deviation(e []float64) float64 {
	squares := 0.0
	for _, v := range e {
		squares += v * v
	}
	return math.Sqrt(squares / float64(len(e)))
}

// hidden returns how far the mean of rounded readings may be off. The parameter resolution is half
// a digit, and sigma is the standard deviation of the rounded values. The variance before rounding
// is smaller than sigma squared by a twelfth of the digit squared. With much noise, the result is
// the first term of the Fourier series of the error (Widrow and Kollár, Quantization Noise, 2008).
// With little noise, the other terms matter. The result is then computed from the fraction of
// readings that noise carries across the nearest edge between two printed values.
func hidden(resolution, sigma float64) float64 {
	digit := 2 * resolution
	before := math.Sqrt(max(0, sigma*sigma-digit*digit/12)) / digit
	if before == 0 {
		return resolution
	}
	off := math.Exp(-2*math.Pi*math.Pi*before*before) / math.Pi
	if density := before * math.Sqrt(2*math.Pi); density < 1 {
		// At a distance d from the edge, the mean is off by 1/2 - d, minus the fraction of the readings
		// beyond the edge. The error is largest at the d at which the density of the noise is 1.
		d := before * math.Sqrt(-2*math.Log(density))
		off = max(off, 0.5-d-0.5*math.Erfc(d/before/math.Sqrt2))
	}
	return digit * off
}
