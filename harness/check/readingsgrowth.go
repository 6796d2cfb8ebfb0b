package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

const (
	// lowBlocks is into about how many blocks a long series is cut. Each has one value, its lowest
	// reading: memory that is given back from time to time is no leak.
	lowBlocks = 32
	// limitReadings is over how many readings a level may grow by the limit each. A series has as
	// many readings as somebody chose to take: of more of them, each may grow by less.
	limitReadings = 60
)

// A readingsJudge judges the readings of a lane in the processes that were not judged over their
// files. ok is false if it has no finding; tooFew then says why, if there are any readings.
type readingsJudge func(j *Judge, l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
)

// A readingsVerdict is the finding on one series of readings.
type readingsVerdict struct {
	finding Finding
	series  series
	of      *readingSeries
	run     *readingRun
	blocks  []readingBlock
	each    int // readings in a block
	result  shape.Result
}

// leakOverReadings judges the growth of the level.
func (j *Judge) leakOverReadings(l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
) {
	var all []readingsVerdict
	var most, peaks *readingSeries
	judged := j.judgedOverFiles(overFiles)
	for _, s := range l.readings {
		if s.ofReserve {
			continue
		}
		for _, r := range []*readingRun{s.worst, &s.now} {
			if r == nil || !j.enough(r) || judged[r.process] {
				continue
			}
			switch v := j.readingsVerdict(l, s, r); {
			case s.steps && v.finding.Verdict != Fail:
			case !isLargestSoFar(s.level) || v.finding.Verdict == Fail:
				if s.steps {
					v.finding.Verdict = Undecided
					v.finding.Message += "; the log does not say whether these are files or parts of one file, " +
						"which may grow; print [pipeline] file-start and file-end"
				}
				all = append(all, v)
			default:
				peaks = s
			}
		}
		if !s.steps && s.now.readings > 1 && (most == nil || s.now.readings > most.now.readings) {
			most = s
		}
	}
	if len(all) == 0 {
		switch {
		case peaks != nil:
			tooFew = fmt.Sprintf("the %d readings of %s are high-water marks, which hide the level "+
				"below them; print what is allocated", peaks.now.readings, peaks.name)
		case most != nil:
			tooFew = fmt.Sprintf("growth over readings needs %d of one name in one process; "+
				"here are %d of %s", j.policy.Leak.MinFiles, most.now.readings, most.name)
		}
		return Finding{}, tooFew, false
	}
	// Growth anywhere fails. Where nothing grows, the allocator's own level counts, if there is one.
	rank := func(v readingsVerdict) int { return slices.Index(readingLevels, v.of.level) }
	if !slices.ContainsFunc(all, func(v readingsVerdict) bool { return v.finding.Verdict == Fail }) {
		best := rank(slices.MinFunc(all, func(a, b readingsVerdict) int { return rank(a) - rank(b) }))
		all = slices.DeleteFunc(all, func(v readingsVerdict) bool { return rank(v) != best })
	}
	order := []Verdict{Pass, Undecided, Fail}
	worst := slices.MaxFunc(all, func(a, b readingsVerdict) int {
		return cmp.Or(slices.Index(order, a.finding.Verdict)-slices.Index(order, b.finding.Verdict),
			cmp.Compare(*a.finding.Measured, *b.finding.Measured))
	})
	j.noteReadings(&worst)
	return worst.finding, "", true
}

// reserveOverReadings judges the growth of what is reserved, where the level of the same lines does
// not grow: then the allocator takes more and more that it does not hand out. It has a finding only
// where that is certain.
func (j *Judge) reserveOverReadings(l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
) {
	judged := j.judgedOverFiles(overFiles)
	grows := func(s *readingSeries, r *readingRun) (v readingsVerdict, ok bool) {
		if r == nil || !j.enough(r) || judged[r.process] {
			return v, false
		}
		v = j.readingsVerdict(l, s, r)
		return v, v.finding.Verdict == Fail
	}
	levelGrows := func(name string) bool {
		return slices.ContainsFunc(l.readings, func(of *readingSeries) bool {
			if of.ofReserve || of.name != name {
				return false
			}
			_, first := grows(of, of.worst)
			_, last := grows(of, &of.now)
			return first || last
		})
	}
	for _, s := range l.readings {
		if !s.ofReserve || s.steps {
			continue
		}
		for _, r := range []*readingRun{s.worst, &s.now} {
			v, fails := grows(s, r)
			if !fails || levelGrows(s.name) { // one cause
				continue
			}
			j.noteReadings(&v)
			return v.finding, "", true
		}
	}
	return f, "", false
}

// judgedOverFiles returns the processes that have enough files to be judged over them.
func (j *Judge) judgedOverFiles(overFiles []processValues) map[int]bool {
	judged := map[int]bool{}
	for i := range overFiles {
		judged[overFiles[i].process] = len(overFiles[i].files) >= j.policy.Leak.MinFiles
	}
	return judged
}

// noteReadings notes the series that was judged for the report.
func (j *Judge) noteReadings(v *readingsVerdict) {
	if !j.Trends {
		return
	}
	t := Trend{Finding: v.finding, Unit: Bytes, Result: v.result, Every: v.each}
	for _, b := range v.blocks {
		t.Values, t.Files = append(t.Values, float64(b.least)), append(t.Files, b.file)
	}
	j.trends = append(j.trends, t)
}

// enough reports whether there are enough readings to judge growth. Where the process works on
// files too, the readings must come from as many stretches between them: else they may show the
// loading of a model.
func (j *Judge) enough(r *readingRun) bool {
	if r.readings < j.policy.Leak.MinFiles {
		return false
	}
	return !j.named[r.process] || r.stretches >= j.policy.Leak.MinFiles
}

// judgedReadings returns how many series of readings of the log are judged.
func (j *Judge) judgedReadings() int {
	n := 0
	for _, l := range j.lanes {
		for _, s := range l.readings {
			if j.enough(&s.now) || s.worst != nil && j.enough(s.worst) {
				n++
			}
		}
	}
	return n
}

// readingsVerdict judges the lowest readings of the blocks, and then asks whether the others say
// the same.
func (j *Judge) readingsVerdict(l *lane, s *readingSeries, r *readingRun) readingsVerdict {
	v := readingsVerdict{of: s, run: r, blocks: r.blocks}
	group := max(1, len(r.blocks)/lowBlocks)
	if v.each = group * r.size; group > 1 {
		v.blocks = joined(r.blocks, group)
	}
	if last := len(v.blocks) - 1; v.blocks[last].n < v.each {
		v.blocks = v.blocks[:last] // the lowest of fewer readings is higher
	}
	v.result = v.shape(s.resolution, func(b readingBlock) float64 { return float64(b.least) })
	leak := j.policy.MaxGrowth[IdleLevel]
	v.series = series{
		check: Leak, subject: j.subject(fmt.Sprintf("%s at %s", s.level, s.name), l.id), unit: Bytes,
		limit: leak * min(1, limitReadings/float64(r.readings)),
		per:   "reading", nameAt: v.nameAt,
	}
	if s.ofReserve {
		v.series.check = Fragmentation
		v.series.limit *= j.policy.MaxGrowth[UnusedReserve] / leak
	}
	grows := &v.result
	ignoreSmall(grows, v.series.limit)
	if v.swings() {
		grows.Ends = 0
	}
	doubt := ""
	switch GrowthVerdict(grows, v.series.limit) {
	case Fail:
		doubt = v.doubt(j.judgedReadings())
		grows.Growing = doubt == ""
	case Undecided: // what leaks raises the highest readings too
		high := v.shape(s.resolution, func(b readingBlock) float64 { return float64(b.most) })
		if !grows.Growing && grows.Slope.Estimate <= v.series.limit &&
			GrowthVerdict(&high, v.series.limit) == Pass {
			*grows = high
		}
	}
	v.finding = j.growthFinding(&v.series, nil, grows)
	f := &v.finding
	first := v.blocks[len(v.blocks)-1]
	switch {
	case f.Verdict == Fail:
		first = v.blocks[grows.From]
		for _, more := range []string{j.readingsLeft(l, &v), otherCauses(s.level)} {
			if more != "" {
				f.Message += "; " + more
			}
		}
	case doubt != "":
		f.Verdict = Undecided
		f.Message = doubt
	}
	f.Message = fmt.Sprintf("%s: %s", Plural(r.readings, "reading"), f.Message)
	f.At = &record.Position{Path: first.file.Pos.Path, Line: first.line}
	return v
}

// shape returns the shape of one value of the blocks, with rates per reading instead of per block.
func (v *readingsVerdict) shape(resolution int64, of func(readingBlock) float64) shape.Result {
	r := shape.Of(shape.Series{
		Values: valuesOf(v.blocks, of), Resolution: float64(resolution), Grain: Grain(Bytes),
	})
	each := float64(v.each)
	for _, rate := range []*float64{
		&r.Slope.Estimate, &r.Slope.Low, &r.Slope.High, &r.Rounding, &r.Detectable,
	} {
		*rate /= each
	}
	r.Period *= v.each
	r.Files = v.run.readings
	return r
}

// nameAt names the first reading of a block.
func (v *readingsVerdict) nameAt(i int) string {
	return fmt.Sprintf("reading %s (line %d)", Grouped(strconv.Itoa(1+i*v.each)), v.blocks[i].line)
}

// swings reports whether the level was as high before as it is at the end, and was given back.
func (v *readingsVerdict) swings() bool {
	last := len(v.blocks) - 1
	end, high := v.blocks[last], int64(math.MinInt64)
	for i, b := range v.blocks[:last] {
		high = max(high, b.most)
		if high >= end.least && v.blocks[i+1].least < end.least {
			return true
		}
	}
	return false
}

// doubt returns a reason to doubt growth, or "". series is how many series were judged: in one of
// many, noise looks like growth by chance.
func (v *readingsVerdict) doubt(series int) string {
	r := &v.result
	amount := Quantity(r.Slope.Estimate, Bytes)
	rises := fmt.Sprintf("rises by %s a reading from %s on", amount, v.nameAt(r.From))
	grow := v.blocks[r.From:]
	more := "more readings of one process would decide it"
	// the last of so many parts, above the one before
	above := func(value func(readingBlock) float64, part int) float64 {
		n := max(2, len(grow)/part)
		last, before := grow[len(grow)-n:], grow[len(grow)-2*n:len(grow)-n]
		return median(last, value) - median(before, value)
	}
	least := func(b readingBlock) float64 { return float64(b.least) }
	most := func(b readingBlock) float64 { return float64(b.most) }
	mean := func(b readingBlock) float64 { return b.sum / float64(b.n) }
	noise := 2 * r.Sigma
	half := r.Slope.Estimate * float64(v.each) / 2 // a block
	n := max(2, len(grow)/8)
	// What began late may be only the longest time so far without a collection.
	times := 2.0
	if r.From > 0 {
		times = 6
	}
	switch {
	case len(grow) < shape.LeastFiles:
		return fmt.Sprintf("%s, for the last %d only; %s", rises, v.run.readings-r.From*v.each, more)
	case (r.Slope.Estimate - r.Rounding) < sure(series)*(r.Detectable-r.Rounding):
		return fmt.Sprintf("%s, which one of %d series may do by chance; %s", rises, series, more)
	case v.run.polled && 2*len(grow) < len(v.blocks):
		return fmt.Sprintf("%s, and was level before: it may be a load that has just begun; %s", rises,
			more)
	case (isLargestSoFar(v.of.level) || v.of.ofReserve) && !v.keepsRising(grow):
		return fmt.Sprintf("%s, but not throughout; %s", rises, more)
	case times*v.given() > median(grow[len(grow)-n:], least)-median(grow[:n], least):
		return fmt.Sprintf("%s, but up to %s was freed before, so this may be freed too; %s", rises,
			Quantity(v.given(), Bytes), more)
	case above(least, 8) < half*float64(n)-noise/math.Sqrt(float64(n)):
		return fmt.Sprintf("%s, but not at the end; %s", rises, more)
	case above(mean, 2) < half*float64(len(grow)/4), above(most, 2) < half*float64(len(grow)/4):
		return fmt.Sprintf("the lowest readings rise by %s a reading from %s on, but the "+
			"others do not: memory may only be freed less often; %s", amount, v.nameAt(r.From), more)
	}
	return ""
}

// keepsRising reports whether most blocks of the second half are higher than the one before. In
// values that do not grow, the largest so far is exceeded more and more rarely: the n-th is the
// largest one time in n.
func (v *readingsVerdict) keepsRising(blocks []readingBlock) bool {
	second := blocks[len(blocks)/2:]
	rises := 0
	for i, b := range second[1:] {
		if b.least > second[i].least {
			rises++
		}
	}
	return 4*rises >= 3*(len(second)-1)
}

// given returns the largest fall of the lowest readings, without outliers.
func (v *readingsVerdict) given() float64 {
	most, high := int64(0), int64(math.MinInt64)
	for i, b := range v.blocks {
		if _, outlier := slices.BinarySearch(v.result.Outliers, i); !outlier {
			high = max(high, b.least)
			most = max(most, high-b.least)
		}
	}
	return float64(most)
}

// median returns the median of one value of the blocks.
func median(blocks []readingBlock, of func(readingBlock) float64) float64 {
	return shape.Median(valuesOf(blocks, of))
}

func valuesOf(blocks []readingBlock, of func(readingBlock) float64) []float64 {
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		out[i] = of(b)
	}
	return out
}

// sure returns how many times surer growth must be in one of several series than in a single one,
// so that all of them together are called growing by chance as seldom: Bonferroni's bound on 0.1 %.
func sure(series int) float64 {
	z := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }
	return z(0.001/float64(max(1, series))) / z(0.001)
}

// readingsLeft says after how many readings memory is gone at this rate.
func (j *Judge) readingsLeft(l *lane, v *readingsVerdict) string {
	end := v.blocks[len(v.blocks)-1]
	for _, f := range slices.Concat(j.tl.Outside, j.tl.Files) {
		for _, o := range f.OOMs {
			if f.Process == v.run.process && o.Lane == l.id && o.Pos.Line > end.line {
				return fmt.Sprintf("memory ran out at line %d", o.Pos.Line)
			}
		}
	}
	level := int64(0) // the highest of the last readings
	for _, b := range v.blocks[len(v.blocks)-max(1, len(v.blocks)/8):] {
		level = max(level, b.most)
	}
	left := func(total int64) string {
		if n := int64(float64(total-level) / v.result.Slope.Estimate); n > 0 {
			return Grouped(strconv.FormatInt(n, 10))
		}
		return "none"
	}
	total := v.run.total.Bytes
	if total == 0 {
		total = l.peak.Total(end.file.Run)
	}
	var parts []string
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%s here (%s)", left(total), record.FormatBytes(total)))
	} else {
		for _, card := range cards {
			parts = append(parts, fmt.Sprintf("%s on %d GiB", left(card*record.GiB), card))
		}
	}
	return "readings until out of memory: " + strings.Join(parts, ", ") +
		"; a checkpoint at the end of each file would show where it grows"
}

// otherCauses names other causes of growth of a level.
func otherCauses(level record.Quantity) string {
	switch {
	case level == record.Used:
		return "device used counts all processes on the device: growth of another one looks the same"
	case isLargestSoFar(level):
		return "it is a high-water mark: work that gets larger and larger looks the same; print " +
			"what is allocated"
	}
	return ""
}
