package check

import (
	"cmp"
	"fmt"
	"math"

	"vramsoak/harness/shape"
)

// each returns what has one value each: "file" or "reading".
func (s *series) each() string { return cmp.Or(s.per, "file") }

// amount prints how much a series grows from one value to the next: "4.00 MiB".
func (s *series) amount(v float64) string { return rateOf(v, s.unit) }

// rate returns the growth with its interval: "4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB)".
func (s *series) rate(r *shape.Result) string {
	return fmt.Sprintf("%s a %s (95 %%: %s to %s)",
		s.amount(r.Slope.Estimate), s.each(), s.amount(r.Slope.Low), s.amount(r.Slope.High))
}

// grows returns the direction too: "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB)".
func (s *series) grows(r *shape.Result) string {
	if s.falls {
		return "falls by " + s.rate(r)
	}
	return "grows by " + s.rate(r)
}

// growthFinding returns the verdict on one process, or on one series of readings.
func (j *Judge) growthFinding(s *series, p *processValues, r *shape.Result) Finding {
	f := Finding{
		Check: s.check, Subject: s.subject, Verdict: GrowthVerdict(r, s.limit),
		Measured: new(rounded(r.Slope.Estimate, s.unit)), Limit: new(s.limit),
		Unit: s.unit + "/" + s.each(),
	}
	besides := j.besides(s, p, r)
	switch {
	case f.Verdict == Fail:
		since := ""
		if r.From > 0 && (r.Shape == shape.Flat || r.Shape == shape.WarmUp) {
			since = " since " + j.nameAt(s, p, r.From)
		}
		f.Message = fmt.Sprintf("%s%s, and goes on%s", s.grows(r), since, besides)
	case f.Verdict == Pass && r.Growing:
		f.Message = fmt.Sprintf("%s, which is allowed%s", s.grows(r), besides)
	case f.Verdict == Pass:
		f.Message = fmt.Sprintf("no growth to speak of: %s%s", s.rate(r), besides)
	case r.Growing:
		f.Message = fmt.Sprintf("%s, which may be more than the %s that are allowed%s; %s", s.grows(r),
			s.amount(s.limit), besides, s.wouldDecide(r))
	case stepsUp(r, s.limit):
		f.Message = fmt.Sprintf("two steps up look like growth in leaps%s; more %ss in one process "+
			"would tell", besides, s.each())
	case r.Ends > s.limit:
		f.Message = fmt.Sprintf("ends %s above the level of the %ss before%s; more %ss in one process "+
			"would tell whether it stays there, or grows",
			Quantity(r.Ends, s.unit), s.each(), besides, s.each())
	default:
		growth := "growth"
		if s.falls {
			growth = "a fall"
		}
		f.Message = fmt.Sprintf("%s of up to %s a %s cannot be ruled out%s; it would have shown from %s "+
			"a %s on; %s", growth, s.amount(r.Slope.High), s.each(), besides,
			s.amount(r.Detectable), s.each(), s.wouldDecide(r))
	}
	return f
}

// rounded leaves out the digits that only the arithmetic gives.
func rounded(v float64, unit string) float64 {
	digit := Grain(unit) / (1 << 20)
	return math.Round(v/digit)*digit + 0 // never -0
}

// besides returns what the series does besides growing: ", after a warm-up of 1.00 GiB until file
// 3".
func (j *Judge) besides(s *series, p *processValues, r *shape.Result) string {
	amount := func(v float64) string {
		if s.falls {
			v = -v
		}
		return Quantity(v, s.unit)
	}
	text := ""
	switch {
	case r.Shape == shape.WarmUp && r.Growing && r.Size < 0: // it grows faster than before
	case r.Shape == shape.WarmUp:
		text = fmt.Sprintf(", after a warm-up of %s until %s", amount(r.Size), j.nameAt(s, p, r.From))
	case r.Shape == shape.Step:
		text = fmt.Sprintf(", beside one step of %s at %s", amount(r.Size), j.nameAt(s, p, r.From))
	case r.Shape == shape.Steps:
		text = fmt.Sprintf(", beside two steps of together %s, the first at %s", amount(r.Size),
			j.nameAt(s, p, r.From))
	case r.Shape == shape.Sawtooth:
		text = fmt.Sprintf(", beside what is cleared every %d %ss, up to %s", r.Period, s.each(),
			amount(r.Size))
	}
	if r.FollowsAudio && math.Abs(r.PerSecond) > Grain(s.unit) {
		text += fmt.Sprintf(", besides following the length of the audio (%s a second)",
			amount(r.PerSecond))
	}
	return text
}

// nameAt names the file, or the reading, of a value.
func (j *Judge) nameAt(s *series, p *processValues, at int) string {
	if s.nameAt != nil {
		return s.nameAt(at)
	}
	return fileName(j.tl.Files[p.at(at)])
}

// mostAdvised is how many files are worth advising.
const mostAdvised = 10_000

// wouldDecide says how many files, or which digits, would decide an undecided series. The standard
// error of a slope falls with the power 3/2 of the number of files, and what digits hide with the
// number. Growth that looks larger than the limit has to become certain; else the interval has to
// come under the limit.
func (s *series) wouldDecide(r *shape.Result) string {
	if r.Ordered && !r.Growing {
		return "the files grow longer in the order of the batch, or shorter, and memory may follow " +
			"them: soak --shuffle tells"
	}
	noise, room := r.Slope.High-r.Slope.Estimate-r.Rounding, s.limit-r.Slope.Estimate
	if room < 0 && !r.Growing {
		noise, room = r.Detectable-r.Rounding, r.Slope.Estimate
	}
	allowed := func(float64) float64 { return math.Abs(room) }
	if s.per != "" && !r.Growing {
		// The limit of readings is one on the whole series from limitReadings on, and falls with their
		// number. A slope that is not certain is taken for noise.
		noise = max(noise, r.Slope.High-r.Rounding)
		whole := s.limit * float64(max(r.Files, limitReadings))
		allowed = func(n float64) float64 { return whole / max(n, limitReadings) }
	}
	files := func(rounding float64) int {
		for n := float64(r.Files); n <= mostAdvised; n *= 1.02 {
			times := float64(r.Files) / n
			if noise*math.Pow(times, 1.5)+rounding*times <= allowed(n) {
				return int(math.Ceil(n))
			}
		}
		return 0
	}
	printed, exact := files(r.Rounding), files(0)
	number := func(n int) string { return fmt.Sprintf("about %d %ss in one process", n, s.each()) }
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
	return fmt.Sprintf("more %ss in one process would decide it", s.each())
}
