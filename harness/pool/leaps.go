package pool

import "gonum.org/v1/gonum/stat/distuv"

// leaps returns the most growth per file that the steps up in the series may amount to. If leaps
// come at random, their number in all series has a Poisson distribution. The result is the upper
// bound of its mean, of a 95 % interval (Garwood 1936), times the mean size of a leap, over the
// number of files. For one series this is the bound of [check.GrowthVerdict].
func leaps(slopes []Slope) float64 {
	number, size, files := 0, 0.0, 0
	for i := range slopes {
		s := &slopes[i]
		number, size, files = number+s.Leaps, size+s.Leapt, files+s.Files
	}
	if number == 0 || files == 0 {
		return 0
	}
	most := distuv.ChiSquared{K: float64(2 * (number + 1))}.Quantile(bothSides) / 2
	return most * size / float64(number) / float64(files)
}
