package check

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/parser"
)

// leak judges the growth of the idle level (the level at a file's last checkpoint) over the files of one process: the
// difference between the medians of the first and of the last quarter of the files, after the warm-up, over the distance
// between their middles. The resolution of the readings bounds it from both sides.
func (j *judge) leak(lane parser.Lane) {
	f := Finding{Check: Leak, Subject: j.subject("idle level", lane)}
	levels := j.idleLevels(lane)
	if need := j.policy.Leak.MinFiles; len(levels) < need {
		f.Verdict = Skipped
		f.Message = fmt.Sprintf("growth over files needs at least %d files in one process, the log has %d", need, len(levels))
		j.add(f)
		return
	}
	levels = levels[min(j.policy.Leak.WarmUp, len(levels)-2):]
	quarter := max(1, len(levels)/4)
	first, last := levels[:quarter], levels[len(levels)-quarter:]
	from, to := medianLevel(first), medianLevel(last)
	distance := float64(len(levels) - quarter)
	slope := float64(to.Bytes-from.Bytes) / distance
	margin := float64(to.Resolution+from.Resolution) / distance
	limit := float64(j.policy.Leak.MaxGrowth.Bytes)

	end := levels[len(levels)-1]
	f.Measured, f.Limit, f.Unit = new(slope), new(limit), BytesPerFile
	f.File, f.At = end.file.Index, new(end.pos)
	span := fmt.Sprintf("from %s (median of files %s) to %s (files %s)", from, fileRange(first), to, fileRange(last))
	perFile := parser.FormatBytes(int64(math.Round(slope))) + " a file"
	switch {
	case slope-margin > limit:
		f.Verdict = Fail
		f.Message = fmt.Sprintf("growth over files: %s, %s", perFile, span)
		if total := end.total; total > 0 && slope > 0 {
			f.Message += fmt.Sprintf("; out of memory in about %.0f files at this rate",
				max(0, float64(total-end.size.Bytes)/slope))
		}
	case slope+margin > limit:
		f.Verdict = Undecided
		files := math.Ceil(float64(to.Resolution+from.Resolution) / limit * 4 / 3)
		f.Message = fmt.Sprintf("the printed digits allow %s to %s a file; about %.0f files in one process, or exact bytes, would decide it",
			parser.FormatBytes(int64(slope-margin)), parser.FormatBytes(int64(slope+margin)), max(files, float64(len(levels)+1)))
	default:
		f.Verdict = Pass
		f.Message = fmt.Sprintf("no growth over files to speak of: %s, %s", perFile, span)
	}
	j.add(f)
}

// fileRange is "3-16", or "3".
func fileRange(levels []idle) string {
	from, to := levels[0].file.Index, levels[len(levels)-1].file.Index
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// An idle is one file's idle level.
type idle struct {
	file  *parser.File
	size  parser.Size
	total int64
	pos   parser.Position
}

// idleLevels are those of the process that worked on the most files. A file that did not end well says nothing about
// what a good one leaves behind.
func (j *judge) idleLevels(lane parser.Lane) []idle {
	of := map[int][]idle{}
	var longest []idle
	readings := j.readings[lane]
	for i, c := range readings {
		last := i+1 == len(readings) || readings[i+1].file != c.file
		if c.file == nil || !last || !j.sound(c.file) {
			continue
		}
		size, ok := level(c.Checkpoint)
		if !ok {
			continue
		}
		process := c.file.Process
		of[process] = append(of[process], idle{c.file, size, c.Bytes(parser.Total), c.Pos})
		if len(of[process]) > len(longest) {
			longest = of[process]
		}
	}
	return longest
}

// medianLevel is the median by bytes, with the coarsest resolution.
func medianLevel(levels []idle) parser.Size {
	bytes := make([]int64, 0, len(levels))
	var resolution int64
	for _, l := range levels {
		bytes = append(bytes, l.size.Bytes)
		resolution = max(resolution, l.size.Resolution)
	}
	slices.Sort(bytes)
	middle := len(bytes) / 2
	median := bytes[middle]
	if len(bytes)%2 == 0 {
		median = (bytes[middle-1] + bytes[middle]) / 2
	}
	return parser.Size{Bytes: median, Resolution: resolution}
}
