package shape

import "math"

// A model is a shape with its parameters, fitted.
type model struct {
	shape   Shape
	growing bool // its last column is growth that goes on
	// What was searched for, beside the coefficients: where it breaks, in files; the time constant of a warm-up that
	// decays, the period of a sawtooth. Late growth is a flat shape that breaks.
	breaks   []float64
	tau      float64
	period   int
	searched int
	regression
	fit
}

// searchCost is how many parameters a searched one counts for: three for a break (Hall, Osborn and Sakkas 2013).
const searchCost = 3

// bic is twice the log likelihood, less what so many parameters gain from noise by themselves (Schwarz 1978).
func (m *model) bic() float64 {
	return m.evidence - float64(len(m.columns)+searchCost*m.searched)*math.Log(float64(len(m.y)))
}

// slope is the last coefficient.
func (m *model) slope() float64 { return m.beta[len(m.columns)-1] }

// se is its standard error.
func (m *model) se() float64 { return m.noise * math.Sqrt(m.last) }

// at is what the model is at a place of the series.
func (m *model) at(i int) float64 {
	v := 0.0
	for j, c := range m.columns {
		v += m.beta[j] * c[i]
	}
	return v
}

// A bench fits shapes to one series.
type bench struct {
	y []float64
	x []float64 // numbers of the files
	// Columns that every model has: the constant, and the length of the audio where it counts.
	fixed [][]float64
	line  []float64
	width float64 // how many files a value stands for: 1, and more in a series of blocks
	floor float64 // see regression.fit
	grain float64
	// trust is the share of the values that were measured, and not put in the place of outliers.
	trust float64
	all   []model
}

func newBench(y, x []float64, a *audio, floor, grain float64) *bench {
	b := &bench{y: y, x: x, width: 1, floor: floor, grain: grain, trust: 1}
	// Of files far from 0, x is nearly a constant.
	b.line = b.column(func(x float64) float64 { return x - b.x[0] })
	b.fixed = [][]float64{b.column(func(float64) float64 { return 1 })}
	if a.seconds != nil {
		seconds, _ := centred(a.seconds) // lengths that hardly differ are nearly a constant
		if a.ordered || b.explains(seconds) {
			b.fixed = append(b.fixed, seconds)
		}
	}
	return b
}

// blocks says that the values are means of blocks.
func (b *bench) blocks() bool { return b.width > 1 }

// explains says whether a column makes a line fit better, or none.
func (b *bench) explains(column []float64) bool {
	for _, beside := range [][][]float64{nil, {b.line}} {
		without, ok := b.model(model{}, beside...)
		with, okWith := b.model(model{}, append([][]float64{column}, beside...)...)
		if ok && okWith && with.bic() > without.bic() {
			return true
		}
	}
	return false
}

// best is the best fit of those without growth, and of those that grow; the latter is nil where none goes up.
func (b *bench) best() (clean, growing *model) {
	b.candidates()
	for i := range b.all {
		m := &b.all[i]
		best := &clean
		if m.growing {
			best = &growing
			if m.slope() <= 0 {
				continue
			}
		}
		if *best == nil || m.bic() > (*best).bic() {
			*best = m
		}
	}
	return clean, growing
}

// beside is growth on top of a model without it. ok is false where the length of the audio, or the shape, is a line itself.
func (b *bench) beside(m *model) (with model, ok bool) {
	with = *m
	with.growing = true
	return b.model(with, append(m.columns[len(b.fixed):len(m.columns):len(m.columns)], b.line)...)
}

// bare is growth and nothing else: all that changes from file to file, whatever it is from.
func (b *bench) bare() model {
	alone := *b
	alone.fixed = b.fixed[:1]
	m, _ := alone.model(model{shape: Flat, growing: true}, b.line)
	return m
}

// model fits the columns beside the fixed ones.
func (b *bench) model(m model, columns ...[]float64) (model, bool) {
	m.regression = regression{b.y, append(append(make([][]float64, 0, maxColumns), b.fixed...),
		columns...)}
	f, ok := m.regression.fit(b.floor, b.grain)
	m.fit = f
	return m, ok
}

// rss is the residual sum of squares with the columns and without autocorrelation: by it breaks are searched.
func (b *bench) rss(columns ...[]float64) (rss, first float64) {
	var all [maxColumns][]float64
	n := copy(all[:], b.fixed)
	n += copy(all[n:], columns)
	r := regression{b.y, all[:n]}
	s, ok := r.solve(0)
	if !ok {
		return math.Inf(1), 0
	}
	return s.rss, s.beta[len(b.fixed)]
}

// column makes one.
func (b *bench) column(f func(x float64) float64) []float64 {
	c := make([]float64, len(b.x))
	for i, x := range b.x {
		c[i] = f(x)
	}
	return c
}

// step is 1 from file k on; in a block, the share of it.
func (b *bench) step(k float64) []float64 {
	return b.column(func(x float64) float64 { return min(1, max(0, (x+(b.width-1)/2-k+1)/b.width)) })
}

// upTo rises up to file k.
func (b *bench) upTo(k float64) []float64 {
	return b.column(func(x float64) float64 { return min(x, k) - b.x[0] })
}

// from rises from file k on.
func (b *bench) from(k float64) []float64 {
	return b.column(func(x float64) float64 { return max(0, x-k) })
}

// decay rises towards 1.
func (b *bench) decay(tau float64) []float64 {
	return b.column(func(x float64) float64 { return 1 - math.Exp(-(x-b.x[0])/tau) })
}

// sawtooth rises from 0 to period-1, again and again.
func (b *bench) sawtooth(period, offset int) []float64 {
	return b.column(func(x float64) float64 { return float64((int(x) + offset) % period) })
}
