package shape

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// usualLevel is the probability of a false alarm for which the table below was made.
const usualLevel = 0.001

// criticalFiles labels the rows of the table below, and criticalPhi labels its columns. Values
// between the labels are interpolated.
var (
	criticalFiles = [...]float64{8, 12, 20, 30, 40, 50, 65, 80, 120, 200}
	criticalPhi   = [...]float64{0, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9}
)

// critical holds how many standard errors above 0 the slope of a line must be. The rows are numbers
// of values, and the columns are the estimated autocorrelations phi. Of series of 50 values without
// growth, fewer than 0.1 % exceed the table, for white noise and for noise with a phi of 0.6. With
// a phi of 0.3 it is 0.16 %, and with 12 values and a phi of 0.6 it is 0.19 %. A t distribution is
// not enough here: in a short series the estimated phi may be far below the true phi, and the
// standard error is then far too small.
//
// The table comes from simulations of hundreds of thousands of series for each number of values.
// TestFrontier shows the method: it chooses the thresholds that find the most leaks of 5.2 standard
// errors at that rate of false alarms. The thresholds were then smoothed by hand. The row for 50
// values was corrected until the whole method kept the rate. TestCritical counts the false alarms
// again.
var critical = [len(criticalFiles)][len(criticalPhi)]float64{
	{9.7, 9.5, 9.3, 9.0, 9.0, 8.0, 7.5, 7.0, 6.5, 6.0},
	{7.2, 9.0, 9.0, 9.0, 9.0, 8.5, 7.5, 6.5, 6.0, 6.0},
	{5.5, 8.0, 8.5, 9.0, 9.0, 8.5, 7.5, 6.5, 6.0, 6.0},
	{3.9, 5.5, 7.0, 8.0, 8.5, 8.0, 7.0, 6.5, 5.5, 5.5},
	{3.3, 4.0, 4.5, 5.5, 6.5, 7.0, 6.5, 6.5, 5.5, 5.5},
	{3.27, 3.27, 3.65, 4.3, 5.0, 6.0, 6.0, 6.0, 5.5, 5.5},
	{3.22, 3.3, 3.5, 3.7, 4.2, 6.0, 6.0, 6.0, 5.5, 5.5},
	{3.2, 3.25, 3.4, 3.6, 3.9, 6.0, 6.0, 6.0, 5.5, 5.5},
	{3.16, 3.16, 3.3, 3.4, 3.7, 5.5, 5.5, 5.5, 5.5, 5.5},
	{3.15, 3.15, 3.2, 3.3, 3.6, 4.5, 5.0, 5.5, 5.5, 5.5},
}

// criticalBreak is added to the table's threshold if the fit searched for a break, a period or a
// time constant. Such a search picks the position at which growth shows best, so growth must be
// clearer. The value comes from simulation.
const criticalBreak = 4.5

// criticalAudio is added to the table's threshold if the fit includes the length of the audio,
// because the effect of a second of audio, and the outliers, are estimated from the same values.
const criticalAudio = 0.2

// The table holds for usualLevel. For a smaller level, all thresholds are multiplied by a factor:
// the quantile of a t distribution at that level, divided by its quantile at usualLevel. The tails
// are those of a t distribution with few degrees of freedom, because the estimated phi is sometimes
// far too small. Simulations give 5 degrees up to 50 values, and more from there on. In each of
// them, the factor keeps the rate of false alarms in proportion to the level down to 0.001/50,000,
// for a phi from 0 to 0.75 and up to 256 values: it is at most 1.5 times the level, and mostly far
// below it. TestCriticalLevel repeats them.
const (
	tailDegrees = 5
	tailFiles   = 50
)

// rarer returns the factor for a level. A level of 0 counts as usualLevel.
func rarer(files int, level float64) float64 {
	if level == 0 || level >= usualLevel {
		return 1
	}
	t := tails(files)
	return t.Quantile(level) / t.Quantile(usualLevel)
}

// level returns the level for which rarer returns this factor, or usualLevel for a factor below 1.
func level(files int, factor float64) float64 {
	t := tails(files)
	return min(usualLevel, t.CDF(factor*t.Quantile(usualLevel)))
}

// tails returns the distribution whose tails the thresholds follow.
func tails(files int) distuv.StudentsT {
	return distuv.StudentsT{
		Sigma: 1, Nu: tailDegrees * math.Pow(max(1, float64(files)/tailFiles), 1.5),
	}
}

// criticalT returns the table's threshold for a number of values and a phi.
func criticalT(files int, phi float64) float64 {
	// The thresholds depend on the logarithm of the number of values, so interpolate in that.
	i, u := between(criticalFiles[:], float64(files), math.Log)
	j, v := between(criticalPhi[:], phi, func(x float64) float64 { return x })
	at := func(i int) float64 { return critical[i][j]*(1-v) + critical[i][j+1]*v }
	return at(i)*(1-u) + at(i+1)*u
}

// between returns the index i of the interval of a scale that contains x, and where x lies in it,
// from 0 to 1. The function of is applied to x and to the scale first. An x outside of the scale
// counts as the scale's end.
func between(scale []float64, x float64, of func(float64) float64) (i int, part float64) {
	for i+2 < len(scale) && x >= scale[i+1] {
		i++
	}
	part = (of(x) - of(scale[i])) / (of(scale[i+1]) - of(scale[i]))
	return i, min(1, max(0, part))
}
