package shape

import "math"

// favour is how much better a shape without growth must fit to be preferred, as a difference of
// the Bayesian information criterion. A difference below 2 is "not worth more than a bare
// mention" (Kass and Raftery 1995).
const favour = 2

// A rise is growth only if it exceeds this many units of the last digit. A smaller rise may be
// one step or a few, which rounding hides. The number is riseNoisy if noise carries values to
// other digits, because rounding then hides less. Such a rise below riseQuiet must also fit
// better as growth than as any shape without, by strong: a difference above 6 of the Bayesian
// information criterion is strong evidence (Kass and Raftery 1995).
const (
	riseQuiet = 3
	riseNoisy = 1.75
	strong    = 6
)

// A certainty says whether growth is certain at the level of the series, and at which levels it is.
type certainty struct {
	grows   bool
	sure    float64 // see [Result.Sure]
	growing *model  // the best fit with growth; nil if no slope is above 0
}

// certain returns how certain growth is. The parameter growing is the best fit with growth, and
// clean the best without. Four things must hold:
//
//   - No shape without growth explains the series clearly better than the best with growth. If both
//     fits explain all that the printed digits show, the shape without growth must not be better at
//     all.
//   - The slope is far enough above 0: see needed. Rounding may have tilted it. The bound of
//     [fitter.staircase] does not apply: it assumes a straight line, and the series may be a small
//     warm-up.
//   - The rise is large enough in digits: see riseQuiet.
//   - The second half of the series grows too: see goesOn.
//
// Only the second of them depends on the level.
func (b *fitter) certain(growing, clean *model, resolution float64) certainty {
	c := certainty{sure: 1, growing: growing}
	if growing == nil {
		return c
	}
	better := growing.bic() - clean.bic()
	if growing.evidence == clean.evidence {
		better -= favour
	}
	hidden := 0.0
	if resolution > 0 {
		hidden = b.hidden(growing, resolution)
	}
	least := riseNoisy
	if hidden == resolution {
		least = riseQuiet
	}
	rise := growing.slope() * b.files(growing)
	if rise <= 2*least*resolution || rise <= 2*riseQuiet*resolution && better < strong {
		return c
	}
	t := (growing.slope() - b.tilt(growing, hidden)) / b.se(growing)
	usual := b.threshold(growing)
	if better > -favour && t > usual && b.goesOn(growing) {
		c.sure = level(len(b.y), t/usual)
		c.grows = t > b.needed(growing)
	}
	return c
}

// files returns the number of files over which a model grows: those after its last break.
func (b *fitter) files(m *model) float64 {
	first := b.x[0]
	if len(m.breaks) > 0 {
		first = m.breaks[len(m.breaks)-1]
	}
	return max(1, b.x[len(b.x)-1]-first+1)
}

// chosen returns the model m that describes the series, and the model growth whose slope is the
// growth. Usually both are the same model. They differ if each file's audio is longer, or
// shorter, than the last by the same amount, because the effect of the audio then looks exactly
// like growth.
func (b *fitter) chosen(resolution float64) (m, growth *model, c certainty) {
	clean, growing := b.best()
	c = b.certain(growing, clean, resolution)
	if c.grows {
		return growing, growing, c
	}
	if line, ok := b.model(model{shape: Flat, growing: true}, b.line); ok && line.slope() < 0 &&
		line.bic() > clean.bic() {
		return &line, &line, c // the series falls
	}
	if with, ok := b.withGrowth(clean); ok {
		return &with, &with, c
	}
	return clean, new(b.bare()), c
}

// needed returns how many standard errors the slope of a model must be above 0 for growth to be
// certain at the level of the series.
func (b *fitter) needed(m *model) float64 {
	return b.threshold(m) * rarer(len(b.y), b.level)
}

// threshold returns what needed returns for the usual level.
func (b *fitter) threshold(m *model) float64 {
	t := criticalT(len(b.y), m.phi)
	if m.searched > 0 {
		t += criticalBreak
	}
	if len(b.fixed) > 1 {
		t += criticalAudio
	}
	return t
}

// se returns the standard error of a model's slope. Some values replace outliers. They make the
// residuals too small and the number of values too large, both by about the fraction of such
// values. Dividing by trust corrects both.
func (b *fitter) se(m *model) float64 { return m.se() / b.trust }

// goesOn reports whether the second half of the series agrees with the growth. The slope of the
// second half must be certain by itself, or at least half of the growth, less two standard
// errors. This excludes warm-ups whose form no model has. The noise is that of the second half:
// if a shape does not fit the first half, what is left there looks like autocorrelated noise.
func (b *fitter) goesOn(growing *model) bool {
	half := len(b.y) / 2
	r := regression{y: b.y[half:], columns: [][]float64{b.fixed[0][half:], b.line[half:]}}
	if len(b.fixed) > 1 {
		with := regression{r.y, [][]float64{b.fixed[0][half:], b.fixed[1][half:], b.line[half:]}}
		// Use the length of the audio only if it varies in the second half too, and not linearly.
		if _, ok := with.solve(growing.phi); ok {
			r = with
		}
	}
	f, ok := r.fit(b.floor, b.grain)
	if !ok {
		return true
	}
	slope := f.beta[len(r.columns)-1]
	se := f.noise * math.Sqrt(f.last) / b.trust
	return slope > criticalT(len(r.y), f.phi)*se || slope > growing.slope()/2-2*se
}

// halves returns the slopes of the two halves of the series, by least squares.
func (b *fitter) halves() (early, late float64) {
	half := len(b.y) / 2
	slope := func(from, to int) float64 {
		r := regression{y: b.y[from:to]}
		for _, c := range b.fixed {
			r.columns = append(r.columns, c[from:to])
		}
		r.columns = append(r.columns, b.line[from:to])
		f, ok := r.solve(0)
		if !ok {
			return math.NaN()
		}
		return f.beta[len(r.columns)-1]
	}
	return slope(0, half), slope(half, len(b.y))
}
