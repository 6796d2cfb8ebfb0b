package check

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// each returns the noun for one value of the series: "file" or "reading".
func (s *series) each() string { return cmp.Or(s.per, "file") }

// amount returns the growth from one value to the next with its unit: "4.00 MiB".
func (s *series) amount(v float64) string { return rateOf(v, s.unit) }

// rate returns the growth with its confidence interval, as [Rate] does.
func (s *series) rate(r *shape.Result) string { return Rate(r.Slope, s.unit, s.each()) }

// Rate returns a growth with its confidence interval, in words: "4.00 MiB a file (95 %: 3.86 MiB to
// 4.12 MiB)". If both ends of the interval print alike, it gives the distance to them instead: "212
// MiB a file (95 %: ± 38.0 KiB)". The parameter each is the noun for one value: "file".
func Rate(slope shape.Interval, unit, each string) string {
	rate := rateOf(slope.Estimate, unit) + " a " + each
	low, high := rateOf(slope.Low, unit), rateOf(slope.High, unit)
	if low != high {
		return fmt.Sprintf("%s (95 %%: %s to %s)", rate, low, high)
	}
	within := rateOf(max(slope.High-slope.Estimate, slope.Estimate-slope.Low), unit)
	if within == rateOf(0, unit) {
		return rate
	}
	return fmt.Sprintf("%s (95 %%: ± %s)", rate, within)
}

// grows returns what [series.rate] returns, with the direction: "grows by 4.00 MiB a file (95 %:
// 3.86 MiB to 4.12 MiB)".
func (s *series) grows(r *shape.Result) string {
	if s.falls {
		return "falls by " + s.rate(r)
	}
	return "grows by " + s.rate(r)
}

// ruledOut returns what a series that passes does not do: "no growth above 214 KiB a file".
func (s *series) ruledOut(r *shape.Result) string {
	growth := "no growth"
	if s.falls {
		growth = "no fall"
	}
	if most := s.amount(max(0, r.Slope.High)); most != s.amount(0) {
		return fmt.Sprintf("%s above %s a %s", growth, most, s.each())
	}
	return growth
}

// verdict returns [GrowthVerdict]. If the values are counts, a run passes too if all of its growth
// is at most fewCounts: one of few files cannot rule out less.
func (s *series) verdict(r *shape.Result) Verdict {
	v := GrowthVerdict(r, s.limit)
	if v == Undecided && s.unit == Count && r.Shape != "" {
		return GrowthVerdict(r, max(s.limit, fewCounts/float64(r.Files)))
	}
	return v
}

// growthFinding returns the finding on one process, or on one series of readings.
func (j *Judge) growthFinding(s *series, p *processValues, r *shape.Result) Finding {
	f := Finding{
		Check: s.check, Subject: s.subject, Verdict: s.verdict(r),
		Measured: new(rounded(r.Slope.Estimate, s.unit)), Limit: new(s.limit),
		Unit: s.unit + "/" + s.each(), rate: s.rate(r),
	}
	besides := j.besides(s, p, r)
	switch {
	case f.Verdict == Fail:
		since := ""
		if beginsLate(r) {
			since = " since " + j.nameAt(s, p, r.From)
		}
		f.Message = fmt.Sprintf("%s%s%s, and goes on%s; at most %s a %s is allowed", s.grows(r), since,
			s.fromTo(p, r), besides, s.amount(s.limit), s.each())
	case f.Verdict == Pass && r.Growing:
		f.Message = fmt.Sprintf("%s, which is allowed%s", s.grows(r), besides)
	case f.Verdict == Pass:
		f.Message = fmt.Sprintf("%s: %s%s", s.ruledOut(r), s.rate(r), besides)
	case r.Growing:
		f.Message = fmt.Sprintf("%s, which may exceed the allowed %s%s; %s", s.grows(r),
			s.amount(s.limit), besides, s.wouldDecide(r))
	case stepsUp(r, s.limit):
		f.Message = fmt.Sprintf("two steps up look like growth in leaps: %s in sum, the first at %s%s; "+
			"more %ss in one process would decide it", Quantity(r.Size, s.unit), j.nameAt(s, p, r.From),
			s.followsAudio(r), s.each())
	case endsHigh(r, s.limit):
		f.Message = fmt.Sprintf("ends %s above the level of the %ss before%s; more %ss in one process "+
			"would show whether it stays there or grows",
			Quantity(r.Ends, s.unit), s.each(), besides, s.each())
	default:
		growth := "growth"
		if s.falls {
			growth = "a fall"
		}
		high, shows := s.amount(r.Slope.High), s.amount(r.Detectable)
		f.Message = fmt.Sprintf("%s of up to %s a %s cannot be ruled out%s; at most %s a %[3]s "+
			"is allowed; ", growth, high, s.each(), besides, s.amount(s.limit))
		if shows != high {
			f.Message += fmt.Sprintf("here it would show from %s a %s on; ", shows, s.each())
		}
		f.Message += s.wouldDecide(r)
	}
	return f
}

// fromTo returns, for a message, the level before the growth and the last one: ", from 3.10 GiB to
// 4.11 GiB". It returns "" if the values are not amounts, or not over files.
func (s *series) fromTo(p *processValues, r *shape.Result) string {
	if p == nil { // the series is over readings
		return ""
	}
	first, last := 0, len(p.values)-1
	if beginsLate(r) {
		first = max(0, min(r.From/p.stride, len(p.values))-1)
	}
	if s.unit != Bytes && s.unit != Count || isUnknown(p.values[first]) || isUnknown(p.values[last]) {
		return ""
	}
	return fmt.Sprintf(", from %s to %s", Quantity(p.values[first], s.unit),
		Quantity(p.values[last], s.unit))
}

// besides returns the part of a message that says what the series does apart from growth: ", after
// a warm-up of 1.00 GiB until file 3".
func (j *Judge) besides(s *series, p *processValues, r *shape.Result) string {
	amount := func(v float64) string {
		if s.falls {
			v = -v
		}
		return Quantity(v, s.unit)
	}
	text := ""
	switch {
	case r.Shape == shape.WarmUp && r.Growing && r.Size < 0: // faster growth is no end of a warm-up
	case r.Shape == shape.WarmUp:
		what, size := "warm-up", r.Size
		if (size < 0) != s.falls { // amount turns the sign of a series that should not fall
			what, size = "fall", -size
		}
		text = fmt.Sprintf(", after a %s of %s until %s", what, amount(size), j.nameAt(s, p, r.From))
	case r.Shape == shape.Step:
		text = fmt.Sprintf(", apart from one step of %s at %s", amount(r.Size), j.nameAt(s, p, r.From))
	case r.Shape == shape.Steps:
		text = fmt.Sprintf(", apart from two steps of %s in sum, the first at %s", amount(r.Size),
			j.nameAt(s, p, r.From))
	case r.Shape == shape.Sawtooth:
		text = fmt.Sprintf(", apart from memory that is freed every %d %ss, up to %s", r.Period, s.each(),
			amount(r.Size))
	}
	return text + s.followsAudio(r)
}

// followsAudio returns ", and follows the length of the audio (2.00 MiB a second)", or "" if the
// values do not depend on the length.
func (s *series) followsAudio(r *shape.Result) string {
	if !r.FollowsAudio || math.Abs(r.PerSecond) <= Grain(s.unit) {
		return ""
	}
	perSecond := r.PerSecond
	if s.falls {
		perSecond = -perSecond
	}
	return fmt.Sprintf(", and follows the length of the audio (%s a second)",
		Quantity(perSecond, s.unit))
}

// nameAt returns the name of the file, or of the reading, to which the value with index at belongs.
func (j *Judge) nameAt(s *series, p *processValues, at int) string {
	if s.nameAt != nil {
		return s.nameAt(at)
	}
	return fileName(j.tl.Files[p.at(at)])
}

// mostAdvised is the largest number of files that a message advises a user to run.
const mostAdvised = 10_000

// wouldDecide returns the advice for an undecided series: how many files, or which digits, would
// decide it. It extrapolates from the shape r. With n files, the standard error of a slope is
// proportional to n to the power of -3/2, and the rounding error to 1/n. If the growth looks larger
// than the limit, more files must make the growth certain. Otherwise they must bring the confidence
// interval below the limit.
func (s *series) wouldDecide(r *shape.Result) string {
	if r.Ordered && !r.Growing {
		return "files get longer or shorter in the order of the batch, and memory may follow " +
			"them: soak --shuffle would decide it"
	}
	noise, room := r.Slope.High-r.Slope.Estimate-r.Rounding, s.limit-r.Slope.Estimate
	if room < 0 && !r.Growing {
		noise, room = r.Detectable-r.Rounding, r.Slope.Estimate
	}
	allowed := func(float64) float64 { return math.Abs(room) }
	if s.per != "" && !r.Growing {
		// A series of readings has one limit for its whole length once it has limitReadings readings. So
		// the limit for each reading falls with their number. A slope that is not certain counts as
		// noise.
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
	again := "" // how to get more of them
	if s.each() == "file" {
		again = " (soak --repeat)"
	}
	number := func(n int) string {
		return fmt.Sprintf("about %d %ss in one process%s", n, s.each(), again)
	}
	const exactBytes = "exact bytes in the log (vramlog.py prints them)"
	switch {
	case r.Rounding > 0 && exact == r.Files && printed > r.Files:
		return fmt.Sprintf("%s, or %s, would decide it", exactBytes, number(printed))
	case r.Rounding > 0 && exact == r.Files:
		return exactBytes + " would decide it"
	case r.Rounding > noise/4 && exact > 0:
		return fmt.Sprintf("%s, and %s, would decide it", exactBytes, number(exact))
	case printed > r.Files:
		return number(printed) + " would decide it"
	}
	return fmt.Sprintf("more %ss in one process%s would decide it", s.each(), again)
}

// explainLeak adds to the finding on a leak where the memory is allocated, and when memory runs
// out.
func (j *Judge) explainLeak(l *lane, w *worstProcess) {
	if w.of == nil {
		return
	}
	end := l.idleOf(w.of, len(w.of.files)-1)
	shown := end
	if w.finding.Verdict == Fail {
		shown = l.idleOf(w.of, w.begins())
		var taken string
		taken, w.finding.Stage = takenAt(w, "allocated", l.levelsAt(w, func(p *point) *column {
			if p.level.of != l.level {
				return nil
			}
			return &p.level
		}))
		for _, more := range []string{taken, j.runsOut(l, w, end), j.lengthsUnknown(w)} {
			if more != "" {
				w.finding.Message += "; " + more
			}
		}
	}
	w.finding.At = &record.Position{Path: shown.file.Pos.Path, Line: shown.line}
	if !l.named {
		w.finding.Message += "; a file's idle level here is the lowest of its samples"
	}
}

// explainUnused adds to the finding on reserved memory that grows where that memory is reserved.
func (j *Judge) explainUnused(l *lane, w *worstProcess) {
	if w.of == nil || w.finding.Verdict != Fail {
		return
	}
	var taken string
	taken, w.finding.Stage = takenAt(w, "reserved", l.levelsAt(w, func(p *point) *column {
		return &p.unused
	}))
	if taken != "" {
		w.finding.Message += "; " + taken
	}
}

// cards lists common sizes of GPU memory, in GiB.
var cards = []int64{8, 12, 16, 24}

// runsOut returns, for a message, after how many files memory runs out at this rate, on this device
// and on common cards. It assumes that each file needs as much memory above its idle level as the
// file that needed most.
func (j *Judge) runsOut(l *lane, w *worstProcess, end *idle) string {
	work := int64(0)
	for i := range w.of.files {
		idle := l.idleOf(w.of, i)
		work = max(work, idle.highest-idle.size.Bytes)
	}
	slope := *w.finding.Measured
	files := func(total int64) string {
		if n := int64(float64(total-end.size.Bytes-work) / slope); n > 0 {
			return Grouped(strconv.FormatInt(n, 10))
		}
		return "none"
	}
	for _, f := range j.failures() {
		if f.file.Process == w.of.process && f.verdict != Pass && !f.file.Outside {
			return fmt.Sprintf("memory ran out in %s", fileName(f.file))
		}
	}
	var parts []string
	if end.total > 0 {
		parts = append(parts, fmt.Sprintf("%s here", files(end.total)))
	}
	for _, card := range cards {
		parts = append(parts, fmt.Sprintf("%s on %d GiB", files(card*record.GiB), card))
	}
	return fmt.Sprintf("more files until out of memory (each may need %s at its peak): %s",
		record.FormatBytes(work), strings.Join(parts, ", "))
}

// lengthsUnknown returns a warning if the log has no audio lengths, because longer and longer files
// then look like a leak. Otherwise it returns "".
func (j *Judge) lengthsUnknown(w *worstProcess) string {
	for _, n := range w.of.files {
		if j.tl.Files[n].AudioSeconds > 0 {
			return ""
		}
	}
	return "the log does not give the lengths of files: files that get longer look the same " +
		"(soak --shuffle would decide it)"
}
