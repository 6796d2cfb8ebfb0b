package shape

import "math"

// favour is by how much a shape that does not grow must fit better to be preferred, in units of the information criterion: less
// than 2 is "not worth more than a bare mention" (Kass and Raftery 1995).
const favour = 2

// certain says whether growth is: no other shape explains the series, the slope is far enough above 0, and the second half of
// the series goes on growing. A rise by less than three digits may as well be a step, and of shapes that explain all that the
// digits show none is preferred.
func (b *bench) certain(growing, clean *model, resolution float64) bool {
	better := growing.bic() - clean.bic()
	if growing.evidence == clean.evidence {
		better -= favour
	}
	t := (growing.slope() - b.rounding(growing, resolution)) / b.se(growing)
	rise := growing.slope() * b.files(growing)
	return better > -favour && t > b.needed(growing) && rise > 6*resolution && b.goesOn(growing)
}

// files is how many files a model grows over.
func (b *bench) files(m *model) float64 {
	first := b.x[0]
	if len(m.breaks) > 0 {
		first = m.breaks[len(m.breaks)-1]
	}
	return max(1, b.x[len(b.x)-1]-first+1)
}

// chosen is the model that describes the series, and the one that growth is read from: the same, but where the audio grows longer
// by as much with each file, or shorter, which cannot be told from growth.
func (b *bench) chosen(resolution float64) (m, growth *model, grows bool) {
	clean, growing := b.best()
	if growing != nil && b.certain(growing, clean, resolution) {
		return growing, growing, true
	}
	if line, ok := b.model(model{shape: Flat, growing: true}, b.line); ok && line.slope() < 0 &&
		line.bic() > clean.bic() {
		return &line, &line, false // no shape: it falls
	}
	if with, ok := b.beside(clean); ok {
		return &with, &with, false
	}
	return clean, new(b.bare()), false
}

// needed is how many standard errors the slope must be above 0.
func (b *bench) needed(m *model) float64 {
	t := criticalT(len(b.y), m.phi)
	if m.searched > 0 {
		t += criticalBreak
	}
	if len(b.fixed) > 1 {
		t += criticalAudio
	}
	return t
}

// se is the standard error of a model's slope. Values that were put in the place of outliers lie too well: the residuals
// are too small by about their share, and so is the number of values.
func (b *bench) se(m *model) float64 { return m.se() / b.trust }

// goesOn says that the second half of the series does not contradict the growth: its own slope is certain, or within two
// standard errors of half the growth or more. A warm-up of a form that no model has is told from growth by that.
func (b *bench) goesOn(growing *model) bool {
	half := len(b.y) / 2
	r := regression{y: b.y[half:], columns: [][]float64{b.fixed[0][half:], b.line[half:]}}
	if len(b.fixed) > 1 {
		with := regression{r.y, [][]float64{b.fixed[0][half:], b.fixed[1][half:], b.line[half:]}}
		// The audio varies in the second half too, and not as a line.
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

// rounding is by how much the digits may hide a slope, in either direction. Where a line passes within half a digit of every
// value, there is no noise to speak of, and it is as far as lines that do so differ. Else noise carries values over the edges of
// digits, and little is left (see hidden): at worst the first half of the values is off in one direction, and the second half in
// the other, which moves the slope by 3 times as much over their number.
func (b *bench) rounding(m *model, resolution float64) float64 {
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

// hidden is how far off the mean of readings may be that are rounded to a digit, half of which is the resolution, with noise of
// a standard deviation of sigma before the rounding: the first term of the Fourier series of the error (Widrow and Kollár,
// Quantization Noise, 2008), or, where there is so little noise that the other terms count, what it carries over the one edge
// that is near. The deviation that is seen has that of the rounding in it, a twelfth of the digit's square.
func hidden(resolution, sigma float64) float64 {
	digit := 2 * resolution
	before := math.Sqrt(max(0, sigma*sigma-digit*digit/12)) / digit
	if before == 0 {
		return resolution
	}
	off := math.Exp(-2*math.Pi*math.Pi*before*before) / math.Pi
	if density := before * math.Sqrt(2*math.Pi); density < 1 {
		// At d from the edge the mean is 1/2 - d off, less the share of the readings that lie beyond it: most where the density
		// of the noise is 1.
		d := before * math.Sqrt(-2*math.Log(density))
		off = max(off, 0.5-d-0.5*math.Erfc(d/before/math.Sqrt2))
	}
	return digit * off
}
