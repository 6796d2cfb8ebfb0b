package html

import (
	"fmt"
	"math"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/wording"
)

// reservedRise returns what follows from a fragmentation that grows: by how much the allocator's
// reserved memory rose, and after how many more files it fills the device. A reader of the rate
// alone cannot tell whether it matters tonight or next year.
func (e *encoder) reservedRise(f *check.Finding) (lines []string) {
	i := e.trackOf(f)
	if f.Check != check.Fragmentation || i < 0 {
		return nil
	}
	t := e.of.tracks[i]
	first, last, known := ends(t.idle[record.Reserved])
	if !known {
		return nil
	}
	lines = append(lines, fmt.Sprintf("reserved memory at a file's end rose from %s to %s",
		record.FormatBytes(first), record.FormatBytes(last)))
	most, _ := highest(t.highest[record.Reserved], 0)
	if f.Unit != check.BytesPerFile || f.Measured == nil || *f.Measured <= 0 || t.total <= most {
		return lines
	}
	more := math.Ceil(float64(t.total-most) / *f.Measured)
	if more > 1e6 {
		return lines
	}
	return append(lines, fmt.Sprintf("at this rate it fills the card of %s after about %s",
		record.FormatBytes(t.total), wording.Plural(int(more), "more file")))
}

// ends returns the first and the last known value of a column.
func ends(c column) (first, final int64, known bool) {
	for _, v := range c {
		if v != missing {
			first, known = v, true
			break
		}
	}
	final, _ = last(c, 0)
	return first, final, known
}

// peaks returns the high-water marks: "allocated 6.46 GiB, reserved 8.31 GiB, of 16.0 GiB".
// Fragmentation does not raise the allocated memory; a page with that peak alone looks harmless.
func peaks(rep *check.Report) string {
	p := &rep.HighWater
	if p.Allocated == 0 || p.Reserved == 0 {
		return ""
	}
	text := fmt.Sprintf("allocated %s, reserved %s", record.FormatBytes(p.Allocated),
		record.FormatBytes(p.Reserved))
	if p.Total > 0 {
		text += ", of " + record.FormatBytes(p.Total)
	}
	return text
}
