package shape

import "math"

// An audio holds the lengths of the files' audio. A longer file needs more memory, so the lengths
// may explain the series.
type audio struct {
	seconds []float64 // nil if lengths are unknown, or all equal
	ordered bool      // files get longer, or shorter, in their order
	rate    float64   // estimated increase of the series per second of audio
}

// orderedCorrelation is the correlation between the lengths and the order of the files from which
// on the two are hard to separate: a growing level may come from longer files.
const orderedCorrelation = 0.5

func newAudio(s Series, x []float64) audio {
	if s.Audio == nil {
		return audio{}
	}
	r := correlation(s.Audio, x)
	if math.IsNaN(r) { // all lengths are equal
		return audio{}
	}
	return audio{
		seconds: s.Audio, ordered: math.Abs(r) > orderedCorrelation,
		rate: rate(s.Values, s.Audio),
	}
}

// cleaned replaces outliers as the function [cleaned] does. It first subtracts the effect of the
// audio's length, so that a long file is not an outlier.
func (a *audio) cleaned(y []float64, floor float64) (clean []float64, outliers []int) {
	if a.seconds == nil {
		return cleaned(y, floor)
	}
	rest := make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - a.rate*a.seconds[i]
	}
	clean, outliers = cleaned(rest, floor)
	for i := range clean {
		clean[i] += a.rate * a.seconds[i]
	}
	return clean, outliers
}

// rateLag is how many files two files may be apart for rate to compare them. Files near each other
// differ by little but their audio.
const rateLag = 3

// rate returns how much a second of audio adds to the values: the median of the slopes between
// files near each other (Theil 1950, Sen 1968). Outliers hardly affect a median.
func rate(y, seconds []float64) float64 {
	most := 0.0
	for i := range seconds[1:] {
		most = max(most, math.Abs(seconds[i+1]-seconds[i]))
	}
	var slopes []float64
	for i := range y {
		for j := max(0, i-rateLag); j < i; j++ {
			if d := seconds[i] - seconds[j]; math.Abs(d) > most/10 {
				slopes = append(slopes, (y[i]-y[j])/d)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return median(slopes)
}

// correlation returns Pearson's correlation between a and b. It is NaN if one of them does not
// vary.
func correlation(a, b []float64) float64 {
	n := float64(len(a))
	var sa, sb float64
	for i := range a {
		sa += a[i]
		sb += b[i]
	}
	var aa, bb, ab float64
	for i := range a {
		da, db := a[i]-sa/n, b[i]-sb/n
		aa += da * da
		bb += db * db
		ab += da * db
	}
	if aa <= 1e-12*sa*sa/n {
		return math.NaN()
	}
	return ab / math.Sqrt(aa*bb)
}
