package shape

import "math"

// favour is how much better a shape without growth must fit to be preferred, as a difference of the
// Bayesian information criterion. A difference below 2 is "not worth more than a bare mention"
// (Kass and Raftery 1995).
const favour = 2

// certain reports whether growth is certain. The parameter growing is the best fit with growth, and
// clean the best without. Four things must hold:
//
//   - No shape without growth explains the series clearly better than the best with growth. If both
//     fits explain all that the printed digits show, the shape without growth must not be better at
//     all.
//   - The slope is far enough above 0: see needed.
//   - The rise is larger than three units of the last digit. A smaller rise may be a step.
//   - The second half of the series grows too: see goesOn.
func (b *fitter) certain(growing, clean *model, resolution float64) bool {
	better := growing.bic() - clean.bic()
	if growing.evidence == clean.evidence {
		better -= favour
	}
	t := (growing.slope() - b.rounding(growing, resolution)) / b.se(growing)
	rise := growing.slope() * b.files(growing)
	return better > -favour && t > b.needed(growing) && rise > 6*resolution && b.goesOn(growing)
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
// growth. Usually both are the same model. They differ if each file's audio is longer, or shorter,
// than the last by the same amount, because the effect of the audio then looks exactly like growth.
func (b *fitter) chosen(resolution float64) (m, growth *model, grows bool) {
	clean, growing := b.best()
	if growing != nil && b.certain(growing, clean, resolution) {
		return growing, growing, true
	}
	if line, ok := b.model(model{shape: Flat, growing: true}, b.line); ok && line.slope() < 0 &&
		line.bic() > clean.bic() {
		return &line, &line, false // the series falls
	}
	if with, ok := b.withGrowth(clean); ok {
		return &with, &with, false
	}
	return clean, new(b.bare()), false
}

// needed returns how many standard errors the slope of a model must be above 0 for growth to be
// certain.
func (b *fitter) needed(m *model) float64 {
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
// second half must be certain by itself, or at least half of the growth, less two standard errors.
// This excludes warm-ups whose form no model has.
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
	s, ok := r.solve(growing.phi)
	if !ok {
		return true
	}
	slope := s.beta[len(r.columns)-1]
	se := growing.noise * math.Sqrt(s.last) / b.trust
	return slope > criticalT(len(r.y), growing.phi)*se || slope > growing.slope()/2-2*se
}

// rounding returns how far the slope may be off, in either direction, because the values are
// rounded. There are two cases. If a straight line passes within half a digit of every value, there
// is practically no noise. The slope may then be that of the steepest or of the flattest such line.
// Otherwise noise carries some values across the edges between two printed values, and the error of
// a mean is small (see hidden). In the worst case the means of the two halves are off in opposite
// directions. That changes the slope by 3 times the error, divided by the number of files.
func (b *fitter) rounding(m *model, resolution float64) float64 {
	if resolution == 0 {
		return 0
	}
	if len(m.columns) == 2 && m.shape == Flat && m.searched == 0 {
		low, high := math.Inf(-1), math.Inf(1)
		for j := range b.y {
			for i := range j {
				rise, files := b.y[j]-b.y[i], b.x[j]-b.x[i]
				low, high = max(low, (rise-2*resolution)/files), min(high, (rise+2*resolution)/files)
			}
		}
		if low <= high {
			return max(high-m.slope(), m.slope()-low)
		}
	}
	return 3 * hidden(resolution, m.sigma) / b.files(m)
}

// hidden returns how far the mean of rounded readings may be off. The parameter resolution is half
// a digit, and sigma is the standard deviation of the rounded values. The variance before rounding
// is smaller than sigma squared by a twelfth of the digit squared. With much noise, the result is
// the first term of the Fourier series of the error (Widrow and Kollár, Quantization Noise, 2008).
// With little noise, the other terms matter. The result is then computed from the fraction of
// readings that noise carries across the nearest edge between two printed values.
func hidden(resolution, sigma float64) float64 {
	digit := 2 * resolution
	before := math.Sqrt(max(0, sigma*sigma-digit*digit/12)) / digit
	if before == 0 {
		return resolution
	}
	off := math.Exp(-2*math.Pi*math.Pi*before*before) / math.Pi
	if density := before * math.Sqrt(2*math.Pi); density < 1 {
		// At a distance d from the edge, the mean is off by 1/2 - d, minus the fraction of the readings
		// beyond the edge. The error is largest at the d at which the density of the noise is 1.
		d := before * math.Sqrt(-2*math.Log(density))
		off = max(off, 0.5-d-0.5*math.Erfc(d/before/math.Sqrt2))
	}
	return digit * off
}
