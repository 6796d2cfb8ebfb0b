package shape

import "math"

// A model is a shape that was fitted to a series, with its parameters.
type model struct {
	shape   Shape
	growing bool // its last column is lasting growth
	// The following parameters are found by search: the files at which the shape breaks, the time
	// constant of a warm-up that decays, and the period of a sawtooth. searched is the number of
	// parameters that were searched. Growth that begins late is a flat shape with a break.
	breaks   []float64
	tau      float64
	period   int
	searched int
	regression
	fit
}

// searchCost is how many parameters one searched parameter counts for, because the search tries
// many positions. Hall, Osborn and Sakkas (2013) use three for a break.
const searchCost = 3

// bic returns the Bayesian information criterion of a model: twice the log likelihood, less a
// penalty for each parameter, because more parameters fit noise better (Schwarz 1978). The model
// with the largest value is the best.
func (m *model) bic() float64 {
	return m.evidence - float64(len(m.columns)+searchCost*m.searched)*math.Log(float64(len(m.y)))
}

// slope returns the coefficient of the last column: the growth per file of a growing model.
func (m *model) slope() float64 { return m.beta[len(m.columns)-1] }

// se returns the standard error of the coefficient of the last column.
func (m *model) se() float64 { return m.noise * math.Sqrt(m.last) }

// at returns the model's value at an index of the series.
func (m *model) at(i int) float64 {
	v := 0.0
	for j, c := range m.columns {
		v += m.beta[j] * c[i]
	}
	return v
}

// A fitter fits shapes to one series.
type fitter struct {
	y []float64
	x []float64 // the numbers of the files
	// fixed holds the columns of every model: the constant and, if it has an effect, the length of the
	// audio.
	fixed [][]float64
	line  []float64
	width float64 // number of files that a value stands for: 1, or more in a series of blocks
	floor float64 // see regression.fit
	grain float64
	// trust is the fraction of the values that were measured. The other values replace outliers.
	trust float64
	level float64 // see [Series.Level]
	all   []model
	tries
}

func newFitter(y, x []float64, a *audio, floor, grain float64) *fitter {
	b := &fitter{y: y, x: x, width: 1, floor: floor, grain: grain, trust: 1}
	// The line begins at 0, because far from 0 the numbers of the files would look like a constant.
	b.line = b.column(func(x float64) float64 { return x - b.x[0] })
	b.fixed = [][]float64{b.column(func(float64) float64 { return 1 })}
	if a.seconds != nil {
		seconds, _ := centred(a.seconds) // lengths that hardly differ would be nearly a constant
		if a.ordered || b.explains(seconds) {
			b.fixed = append(b.fixed, seconds)
		}
	}
	return b
}

// blocks reports whether the values are means of blocks.
func (b *fitter) blocks() bool { return b.width > 1 }

// explains reports whether adding a column improves a fit, either with growth or without.
func (b *fitter) explains(column []float64) bool {
	for _, growth := range [][][]float64{nil, {b.line}} {
		without, ok := b.model(model{}, growth...)
		with, okWith := b.model(model{}, append([][]float64{column}, growth...)...)
		if ok && okWith && with.bic() > without.bic() {
			return true
		}
	}
	return false
}

// best returns the best fit without growth, and the best fit with growth. The fit with growth is
// nil if no slope is above 0.
func (b *fitter) best() (clean, growing *model) {
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

// withGrowth returns a model with growth added. ok is false if the length of the audio, or the
// shape, is itself a straight line, from which growth cannot be separated.
func (b *fitter) withGrowth(m *model) (with model, ok bool) {
	with = *m
	with.growing = true
	return b.model(with, append(m.columns[len(b.fixed):len(m.columns):len(m.columns)], b.line)...)
}

// bare returns a model of growth without the length of the audio. Its slope is the whole change
// from file to file, including the effect of the audio.
func (b *fitter) bare() model {
	alone := *b
	alone.fixed = b.fixed[:1]
	m, _ := alone.model(model{shape: Flat, growing: true}, b.line)
	return m
}

// model returns m fitted to the series, with the given columns after the fixed ones. ok is false if
// the columns depend on each other.
func (b *fitter) model(m model, columns ...[]float64) (model, bool) {
	m.regression = regression{b.y, append(append(make([][]float64, 0, maxColumns), b.fixed...),
		columns...)}
	f, ok := m.regression.fit(b.floor, b.grain)
	m.fit = f
	return m, ok
}

// column returns the column of a regression that holds the values of f at all files. While a search
// tries columns, the next try overwrites it: see [fitter.try].
func (b *fitter) column(f func(x float64) float64) []float64 {
	c := b.newColumn()
	for i, x := range b.x {
		c[i] = f(x)
	}
	return c
}

// step returns a column that is 0 before file k and 1 from file k on. In a series of blocks, the
// block that contains file k gets the fraction of its files that are not before k.
func (b *fitter) step(k float64) []float64 {
	c, width := b.newColumn(), b.width
	for i, x := range b.x {
		switch from := x + (width-1)/2 - k + 1; {
		case from <= 0:
			c[i] = 0
		case from >= width:
			c[i] = 1
		default:
			c[i] = from / width
		}
	}
	return c
}

// upTo returns a column that rises until file k and is then constant.
func (b *fitter) upTo(k float64) []float64 {
	c := b.newColumn()
	for i, x := range b.x {
		c[i] = min(x, k) - b.x[0]
	}
	return c
}

// from returns a column that is 0 until file k and then rises.
func (b *fitter) from(k float64) []float64 {
	c := b.newColumn()
	for i, x := range b.x {
		c[i] = max(0, x-k)
	}
	return c
}

// decay returns a column that rises from 0 towards 1 with the time constant tau, in files.
func (b *fitter) decay(tau float64) []float64 {
	return b.column(func(x float64) float64 { return 1 - math.Exp(-(x-b.x[0])/tau) })
}

// sawtooth returns a column that rises from 0 to period-1 and falls back to 0, repeatedly. The
// parameter offset is its value at file 0.
func (b *fitter) sawtooth(period, offset int) []float64 {
	c := b.newColumn()
	for i, x := range b.x {
		c[i] = float64((int(x) + offset) % period)
	}
	return c
}
