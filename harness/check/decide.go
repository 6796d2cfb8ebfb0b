package check

import (
	"fmt"
	"math"

	"vramsoak/harness/shape"
)

// filesMax is how many files are worth advising.
const filesMax = 10_000

// wouldDecide says how many files or digits it takes. The standard error of a slope falls with the power 3/2 of the number of
// files, what digits hide with the number. What looks like more than the limit has to become certain, else the interval has to
// come under the limit.
func wouldDecide(d *drift, r *shape.Result) string {
	if r.Ordered && !r.Growing {
		return "the files grow longer in the order of the batch, or shorter, and memory may follow them: soak --shuffle tells"
	}
	noise, room := r.Slope.High-r.Slope.Estimate-r.Rounding, d.limit-r.Slope.Estimate
	if room < 0 && !r.Growing {
		noise, room = r.Detectable-r.Rounding, r.Slope.Estimate
	}
	at := func(float64) float64 { return math.Abs(room) }
	if d.per != "" && !r.Growing {
		// The limit of readings is one on the whole series from limitReadings on, and falls with their
		// number. A slope that is not certain is taken for noise.
		noise = max(noise, r.Slope.High-r.Rounding)
		whole := d.limit * float64(max(r.Files, limitReadings))
		at = func(n float64) float64 { return whole / max(n, limitReadings) }
	}
	files := func(rounding float64) int {
		for n := float64(r.Files); n <= filesMax; n *= 1.02 {
			times := float64(r.Files) / n
			if noise*math.Pow(times, 1.5)+rounding*times <= at(n) {
				return int(math.Ceil(n))
			}
		}
		return 0
	}
	printed, exact := files(r.Rounding), files(0)
	number := func(n int) string { return fmt.Sprintf("about %d %ss in one process", n, d.each()) }
	switch {
	case r.Rounding > 0 && exact == r.Files && printed > r.Files:
		return fmt.Sprintf("exact bytes, or %s, would decide it", number(printed))
	case r.Rounding > 0 && exact == r.Files:
		return "exact bytes would decide it"
	case r.Rounding > noise/4 && exact > 0:
		return fmt.Sprintf("exact bytes, and %s, would decide it", number(exact))
	case printed > r.Files:
		return number(printed) + " would decide it"
	}
	return fmt.Sprintf("more %ss in one process would decide it", d.each())
}
