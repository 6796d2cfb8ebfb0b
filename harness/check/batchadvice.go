package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// batchAdvice returns the largest batch that would fit, if the log gives the batch size that did
// not. It uses the peaks of other batch sizes in the same stage. If the log has none, it uses the
// size of the failed request.
func (j *Judge) batchAdvice(s *shortage) string {
	stage, batch := j.failedBatch(s)
	if batch < 2 {
		return ""
	}
	if text := j.batchByPeaks(s, stage, batch); text != "" {
		return text
	}
	if s.requested == 0 || s.missing == 0 {
		return ""
	}
	item := s.requested / int64(batch)
	fits := s.room / max(1, item)
	if fits < 1 || fits >= int64(batch) {
		return ""
	}
	return fmt.Sprintf("smaller batches: a batch of %d asked for %s at once; if that grows with the "+
		"batch, a batch of %d asks for %s, and %s were left", batch, formatBytes(s.requested), fits,
		formatBytes(item*fits), formatBytes(s.room))
}

// batchByPeaks returns the advice by the peaks of other batch sizes in the same stage. With two
// sizes or more, it takes the peak to be a line over the batch size.
func (j *Judge) batchByPeaks(s *shortage, stage string, failed int) string {
	peaks := j.peaksByBatch(s, stage)
	delete(peaks, failed)
	if len(peaks) < 2 || s.total == 0 {
		return ""
	}
	sizes := slices.Sorted(maps.Keys(peaks))
	small, large := sizes[0], sizes[len(sizes)-1]
	item := (peaks[large] - peaks[small]) / int64(large-small)
	limit := s.total
	if !s.capped {
		limit -= s.others
	}
	if item <= 0 || peaks[large] > limit {
		return ""
	}
	fits := min(int64(large)+(limit-peaks[large])/item, int64(failed)-1)
	if fits < int64(small) {
		return ""
	}
	return fmt.Sprintf("smaller batches: %s took %s with a batch of %d and %s with one of %d, which "+
		"is %s an item; so at most %d fit in %s (it failed with %d)", cmp.Or(stage, "the work"),
		formatBytes(peaks[small]), small, formatBytes(peaks[large]), large, formatBytes(item), fits,
		formatBytes(limit), failed)
}

// peaksByBatch returns the largest level of a stage for each batch size that the names of its
// checkpoints give, before the failure and on its device.
func (j *Judge) peaksByBatch(s *shortage, stage string) map[int]int64 {
	peaks := map[int]int64{}
	for f, c := range j.tl.All() {
		if f.Run != s.file.Run || c.Pos.Line >= s.oom.Pos.Line && f.Pos.Path == s.file.Pos.Path ||
			c.Lane.Device != s.oom.Lane.Device {
			continue
		}
		if name, batch := batchOf(c); batch > 0 && name == stage {
			if _, begins, _ := c.Pair(); !begins {
				peaks[batch] = max(peaks[batch], c.Bytes(record.Peak), c.Bytes(record.Allocated))
			}
		}
	}
	return peaks
}

// failedBatch returns the stage that failed and its batch size: as the failure's own lines give it,
// or as the name of the last checkpoint before it. The size is 0 if neither does.
func (j *Judge) failedBatch(s *shortage) (stage string, batch int) {
	at := j.placeBefore(s.file, s.oom.Lane, s.oom.Pos.Line)
	stage = cmp.Or(s.oom.Stage, at.stage)
	last := lastBefore(s.file, s.oom.Pos.Line)
	if last != nil {
		if name, n := batchOf(last); n > 0 && s.oom.Stage == "" {
			return name, cmp.Or(s.oom.Batch, n)
		}
	}
	return stage, s.oom.Batch
}

// lastBefore returns the last checkpoint of a file above a line, or nil.
func lastBefore(f *timeline.File, line int) *record.Checkpoint {
	for i := range slices.Backward(f.Checkpoints) {
		if f.Checkpoints[i].Pos.Line < line {
			return &f.Checkpoints[i]
		}
	}
	return nil
}

// batchOf returns the stage and the batch size that a checkpoint's name gives: "Enrollment" and 8
// for "After Enrollment (batch size 8)". The size is 0 if the name gives none.
func batchOf(c *record.Checkpoint) (stage string, batch int) {
	m := batchInName().FindStringSubmatchIndex(c.Name)
	if m == nil {
		return "", 0
	}
	batch, _ = strconv.Atoi(c.Name[m[2]:m[3]])
	named := record.Checkpoint{Name: c.Name[:m[0]] + c.Name[m[1]:]}
	stage, _, _ = named.Pair()
	return stage, batch
}

var batchInName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)[ ,]*\(?\b(?:batch[ _-]?size|batches of|batch=|bs=)[ =:]*(\d{1,6})\b\)?`)
})
