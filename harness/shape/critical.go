package shape

import "math"

// criticalFiles and criticalPhi are the places of the table below, between which it is interpolated.
var (
	criticalFiles = [...]float64{8, 12, 20, 30, 40, 50, 65, 80, 120, 200}
	criticalPhi   = [...]float64{0, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9}
)

// critical is how many standard errors above 0 the slope of a line must be, by the number of values and the
// autocorrelation that was found in them, so that with 50 values and no growth it is so in under 0.1 % of cases, of white
// noise and of noise with a phi of 0.6; with a phi of 0.3 it is so in 0.16 %, and with 12 values and a phi of 0.6 in 0.19 %.
// A phi that is found is uncertain: one that is found low in a short series may be high, and then the standard error is far
// too small, which is why a t distribution does not do.
//
// Found by simulating hundreds of thousands of series for each number of values: thresholds that find most lines of 5.2
// standard errors at that rate of false alarms (as in TestFrontier), smoothed by hand, and those for 50 values lowered or
// raised by what the whole method then did. TestCritical counts the false alarms again.
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

// criticalBreak is what a slope needs more where a break, a period or a time constant was searched for: of many places
// the one was taken at which growth shows best. By simulation, too: with it such slopes add little to the false alarms.
const criticalBreak = 4.5

// criticalAudio is what it needs more where the length of the audio was allowed for: how much a second adds is found from the
// same values, by which outliers are known too.
const criticalAudio = 0.2

// criticalT is the table at a number of values and a phi.
func criticalT(files int, phi float64) float64 {
	// In the logarithm of the number of values.
	i, u := between(criticalFiles[:], float64(files), math.Log)
	j, v := between(criticalPhi[:], phi, func(x float64) float64 { return x })
	at := func(i int) float64 { return critical[i][j]*(1-v) + critical[i][j+1]*v }
	return at(i)*(1-u) + at(i+1)*u
}

// between finds the interval of the scale that x is in, and how far in; the ends reach on.
func between(scale []float64, x float64, of func(float64) float64) (i int, part float64) {
	for i+2 < len(scale) && x >= scale[i+1] {
		i++
	}
	part = (of(x) - of(scale[i])) / (of(scale[i+1]) - of(scale[i]))
	return i, min(1, max(0, part))
}
