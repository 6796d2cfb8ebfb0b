package shape

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var frontierRuns = flag.Int("frontier.runs", 20_000,
	"series without growth for the bound on the power, of each autocorrelation")

// A grid counts series by the phi and by the slope in standard errors (t) that were estimated in
// them.
type grid [19][100]float64

const tStep = 0.1

func simulated(seed uint64, runs int, phi, slope float64) *grid {
	const n = 50
	r := rand.New(rand.NewPCG(seed, 0x66726f6e))
	one, line := make([]float64, n), make([]float64, n)
	for i := range line {
		one[i], line[i] = 1, float64(i)
	}
	g := &grid{}
	y := make([]float64, n)
	for range runs {
		e := r.NormFloat64()
		for i := range y {
			y[i] = e + slope*line[i]
			e = phi*e + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
		m := model{regression: regression{y, [][]float64{one, line}}}
		m.fit, _ = m.regression.fit(1e-9, 1e-9)
		t := m.slope() / m.se()
		weight := 1 / float64(runs)
		if slope == 0 { // both directions are equally likely
			t, weight = math.Abs(t), weight/2
		}
		g[int(m.phi/phiStep+0.5)][max(0, min(len(g[0])-1, int(t/tStep)))] += weight
	}
	return g
}

// TestFrontier computes the best possible rule that uses only the estimated slope and the estimated
// autocorrelation. Such a rule has a threshold on t, the slope in standard errors, for each phi. It
// should find as many lines of 1 MiB a file in white noise of 20 MiB as possible. It may report at
// most 0.1 % of the series without growth, with white noise or with a phi of 0.6. This is a linear
// program, solved with multipliers: each cell of the grid compares its gain with the cost of the
// two constraints. The result is a bound for the table in critical.go;
// docs/explanation/false-alarms.md gives both.
func TestFrontier(t *testing.T) {
	const alarms = 0.001
	nulls := []*grid{simulated(1, *frontierRuns, 0, 0), simulated(2, *frontierRuns, 0.6, 0)}
	leaks := simulated(3, *frontierRuns/4, 0, 1./20)
	cost := []float64{1, 1}
	best := 0.0
	for range 4000 {
		found := 0.0
		alarm := make([]float64, len(nulls))
		for phi := range leaks {
			// Find the threshold from which the sum of the gains is largest.
			most, from, sum := 0.0, len(leaks[0]), 0.0
			for at := len(leaks[0]) - 1; at >= 0; at-- {
				sum += leaks[phi][at]
				for i, null := range nulls {
					sum -= cost[i] * null[phi][at]
				}
				if sum > most {
					most, from = sum, at
				}
			}
			for at := from; at < len(leaks[0]); at++ {
				found += leaks[phi][at]
				for i, null := range nulls {
					alarm[i] += null[phi][at]
				}
			}
		}
		if max(alarm[0], alarm[1]) <= 1.03*alarms {
			best = max(best, found)
		}
		for i := range cost {
			cost[i] = max(0.01, cost[i]*min(1.1, 1+0.05*(alarm[i]/alarms-1)))
		}
	}
	t.Logf("the best rule of slope and autocorrelation finds %.1f %% of leaks of 1 MiB a file in "+
		"noise of 20 MiB", 100*best)
	if best < 0.8 || best > 0.95 {
		t.Errorf("the bound is %.3f, by the normal approximation it lies between 0.8 and 0.95", best)
	}
}
