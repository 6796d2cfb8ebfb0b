package calibrate

import (
	"fmt"

	"gonum.org/v1/gonum/mathext"
)

// A Rate says how often something happened: Count times in Of cases. The interval from Low to High
// contains its true probability in 95 % of rates.
type Rate struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// outside is the probability that the interval of a [Rate] does not contain the true value.
const outside = 0.05

// rateOf returns a rate with the interval of Clopper and Pearson (The Use of Confidence or Fiducial
// Limits Illustrated in the Case of the Binomial, 1934). If it happened never or always, one end of
// the interval is exact, and the other end gets the whole 5 %. For 0 of n, the upper end is about
// 3/n (Hanley and Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, 1983).
func rateOf(count, of int) Rate {
	r := Rate{Count: count, Of: of, High: 1}
	k, n := float64(count), float64(of)
	switch {
	case of == 0:
	case count == 0:
		r.High = mathext.InvRegIncBeta(1, n, 1-outside)
	case count == of:
		r.Low = mathext.InvRegIncBeta(n, 1, outside)
	default:
		r.Low = mathext.InvRegIncBeta(k, n-k+1, outside/2)
		r.High = mathext.InvRegIncBeta(k+1, n-k, 1-outside/2)
	}
	return r
}

// Estimate returns Count divided by Of, or 0 if Of is 0.
func (r Rate) Estimate() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Count) / float64(r.Of)
}

// leastTries returns how many tries, none of them a false alarm, are needed to show that false
// alarms are rarer than target.
func leastTries(target float64) int {
	n := 1
	for rateOf(0, n).High > target {
		n += max(1, n/1000)
	}
	return n
}

// check returns an error if the options are invalid, or if so few tries cannot show that the goals
// are reached.
func (o Options) check() error {
	switch {
	case !(o.FalseAlarms > 0 && o.FalseAlarms < 1):
		return fmt.Errorf("expected a rate of false alarms between 0 and 100 %%, found %g", o.FalseAlarms)
	case !(o.Power > 0 && o.Power < 1):
		return fmt.Errorf("expected a power between 0 and 100 %%, found %g", o.Power)
	case rateOf(0, o.Tries).High > o.FalseAlarms || o.Tries < 1:
		return fmt.Errorf("%d tries cannot show that false alarms are rarer than %g %%; at least %d can",
			o.Tries, 100*o.FalseAlarms,
			leastTries(o.FalseAlarms))
	}
	return nil
}
