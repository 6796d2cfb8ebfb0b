package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"vramsoak/parser"
)

// leak judges the growth of the idle level (the level at a file's last checkpoint) over the files of one process: the
// difference between the medians of the first and of the last quarter of the files, after the warm-up, over the distance
// between their middles. The resolution of the readings bounds it from both sides. Growth is told from noise by the
// middle halves of the two quarters: they must lie apart. Of several processes the worst one is reported.
func (j *Judge) leak(l *ledger) {
	need, longest := j.policy.Leak.MinFiles, 0
	var worst *Finding
	order := []Verdict{Pass, Undecided, Fail}
	for _, all := range j.idleLevels(l) {
		longest = max(longest, len(all))
		if len(all) < need {
			continue
		}
		f := j.growth(j.subject("idle level", l.lane), all)
		if worst == nil || cmp.Or(slices.Index(order, f.Verdict)-slices.Index(order, worst.Verdict),
			cmp.Compare(*f.Measured, *worst.Measured)) > 0 {
			worst = &f
		}
	}
	if worst == nil {
		worst = &Finding{Check: Leak, Verdict: Skipped, Subject: j.subject("idle level", l.lane), Message: fmt.Sprintf(
			"growth over files needs at least %d files in one process, the longest one here has %d", need, longest)}
	}
	if !l.named {
		worst.Message = `every reading is a sample, and none tells what a file leaves behind; print one at the end of each, as in ` +
			`"[GPU Memory] After File: Allocated: 0.18GB"`
	}
	j.add(*worst)
}

// growth judges the files of one process.
func (j *Judge) growth(subject string, all []idle) Finding {
	f := Finding{Check: Leak, Subject: subject}
	levels := all[min(j.policy.Leak.WarmUp, len(all)-2):]
	quarter := max(1, len(levels)/4)
	first, last := levels[:quarter], levels[len(levels)-quarter:]
	from, to := quantile(first, 0.5), quantile(last, 0.5)
	distance := float64(len(levels) - quarter)
	slope := float64(to.Bytes-from.Bytes) / distance
	margin := float64(to.Resolution+from.Resolution) / distance
	limit := float64(j.policy.Leak.MaxGrowth.Bytes)

	end := levels[len(levels)-1]
	f.Measured, f.Limit, f.Unit, f.At = new(slope), new(limit), BytesPerFile, new(parser.Position{Path: j.file(end.file).Pos.Path, Line: end.line})
	growth := fmt.Sprintf("%s a file, from %s (median of files %s) to %s (files %s)",
		parser.FormatBytes(int64(math.Round(slope))), from, j.fileRange(first), to, j.fileRange(last))
	switch apart := quantile(last, 0.25).Bytes > quantile(first, 0.75).Bytes; {
	case slope-margin > limit && apart:
		f.Verdict = Fail
		f.Message = "growth over files: " + growth
		if end.total > 0 {
			f.Message += fmt.Sprintf("; out of memory in about %.0f files at this rate, as a file takes %s at its peak",
				math.Max(0, float64(end.total-end.peak)/slope), parser.FormatBytes(end.peak-end.size.Bytes))
		}
	case slope-margin > limit:
		f.Verdict = Undecided
		f.Message = "growth over files, or the noise of the idle level: " + growth + "; more files in one process would decide it"
	case slope+margin > limit:
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("the printed digits allow %s to %s a file; %d files in one process, or exact bytes, would decide it",
			parser.FormatBytes(int64(slope-margin)), parser.FormatBytes(int64(slope+margin)), j.filesToDecide(slope, margin*distance))
	default:
		f.Verdict = Pass
		f.Message = "no growth over files to speak of: " + growth
	}
	return f
}

// filesToDecide is how many files of one process it takes until the resolution, a number of bytes, no longer hides on which
// side of the limit a growth lies, if it stays as it is.
func (j *Judge) filesToDecide(slope, resolution float64) int {
	gap := math.Max(1, math.Abs(float64(j.policy.Leak.MaxGrowth.Bytes)-slope))
	distance := int(math.Ceil(resolution / gap))
	// The least n with n - n/4 >= distance, the quarters being whole: see growth.
	return j.policy.Leak.WarmUp + distance + (distance-1)/3
}

// fileRange is "3-16", or "3".
func (j *Judge) fileRange(levels []idle) string {
	from, to := j.file(levels[0].file).Index, j.file(levels[len(levels)-1].file).Index
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// An idle is one file's idle level.
type idle struct {
	file  fileRef
	of    parser.Quantity
	line  int    // of the checkpoint
	name  string // its, without its numbers
	size  parser.Size
	peak  int64 // largest level in the file, bytes
	total int64
}

// idle notes the file's idle level.
func (j *Judge) idle(l *ledger, ref fileRef) {
	if c := l.last; c != nil {
		if size, ok := l.get(c); ok {
			l.idles = append(room(l.idles), idle{
				file: ref, of: l.level, line: c.Pos.Line, name: j.naming(c).uncounted, size: size, peak: l.most.Bytes,
				total: c.Bytes(parser.Total),
			})
		}
	}
}

// idleLevels are those of each process, in the order of the log. A file that did not end well, or ends with another
// checkpoint than most, says nothing about what a good one leaves behind.
func (j *Judge) idleLevels(l *ledger) [][]idle {
	type ending struct {
		process int
		name    string
		of      parser.Quantity
	}
	// The levels are filtered in their place: there may be many.
	all := slices.DeleteFunc(l.idles, func(i idle) bool { return !j.sound(j.file(i.file)) })
	count := map[ending]int{}
	usual := map[int]ending{}
	of := func(i idle) ending { return ending{j.file(i.file).Process, i.name, i.of} }
	for from := 0; from < len(all); {
		e, n := of(all[from]), 1
		for from+n < len(all) && of(all[from+n]) == e {
			n++
		}
		if count[e] += n; count[e] > count[usual[e.process]] {
			usual[e.process] = e
		}
		from += n
	}
	all = slices.DeleteFunc(all, func(i idle) bool {
		e := of(i)
		return e != usual[e.process]
	})
	l.idles = all
	var processes [][]idle
	for len(all) > 0 { // the files of a process follow one another
		n := 1
		for n < len(all) && j.file(all[n].file).Process == j.file(all[0].file).Process {
			n++
		}
		processes = append(processes, all[:n])
		all = all[n:]
	}
	return processes
}

// quantile is the level below which the share q of the levels lies, between two of them their mean by distance, with the
// coarsest resolution of all. See Hyndman and Fan, Sample Quantiles in Statistical Packages (1996), definition 7.
func quantile(levels []idle, q float64) parser.Size {
	bytes := make([]int64, 0, len(levels))
	var resolution int64
	for _, l := range levels {
		bytes = append(bytes, l.size.Bytes)
		resolution = max(resolution, l.size.Resolution)
	}
	slices.Sort(bytes)
	at := q * float64(len(bytes)-1)
	i := int(at)
	value := bytes[i]
	if i+1 < len(bytes) {
		value += int64(math.Round((at - float64(i)) * float64(bytes[i+1]-bytes[i])))
	}
	return parser.Size{Bytes: value, Resolution: resolution}
}
