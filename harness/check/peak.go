package check

import (
	"fmt"

	"vramsoak/parser"
)

// peak compares the high-water mark of a lane with the device's total: up to 70 % is normal, up to the policy's maximum
// (85 %) a notice, above it critical. The bounds are those at which the transcription pipelines warn.
func (j *judge) peak(lane parser.Lane) {
	f := Finding{Check: Peak, Subject: j.subject("high-water mark", lane), Unit: Ratio, Limit: new(float64(j.policy.Peak.Max))}
	var low, high float64 // bounds of the largest share
	var top *parser.Checkpoint
	var file *parser.File
	var mark, total parser.Size
	var reserved int64
	for _, c := range j.readings[lane] {
		t, hasTotal := c.Get(parser.Total)
		if !hasTotal || t.Bytes <= 0 {
			continue
		}
		size, ok := j.level(c.file, c.Checkpoint)
		if p, has := c.Get(parser.Peak); has && p.Bytes > size.Bytes {
			size, ok = p, true
		}
		if !ok {
			continue
		}
		reserved = max(reserved, c.Bytes(parser.Reserved))
		low = max(low, float64(size.Low())/float64(t.High()))
		high = max(high, float64(size.High())/float64(max(1, t.Low())))
		if top == nil || float64(size.Bytes)*float64(total.Bytes) > float64(mark.Bytes)*float64(t.Bytes) {
			top, file, mark, total = c.Checkpoint, c.file, size, t
		}
	}
	if top == nil {
		f.Verdict, f.Limit, f.Unit = Skipped, nil, ""
		f.Message = "the log gives no total of the device beside a reading"
		j.add(f)
		return
	}
	share := float64(mark.Bytes) / float64(total.Bytes)
	f.Measured, f.At = new(share), new(top.Pos)
	f.File = file.Index
	found := fmt.Sprintf("%s of %s (%s) at %s, %s", mark, total, percent(share), top.Name, fileName(file))
	if reserved > mark.Bytes {
		found += fmt.Sprintf("; reserved up to %s (%s)", parser.FormatBytes(reserved), percent(float64(reserved)/float64(total.Bytes)))
	}
	maximum := float64(j.policy.Peak.Max)
	switch {
	case low > maximum:
		f.Verdict = Fail
		f.Message = "critical: " + found + "; take a smaller batch or model, or a larger card"
	case high > maximum:
		f.Verdict = Undecided
		f.Message = found + "; the printed digits do not tell on which side of the limit; log exact bytes to decide it"
	case share > float64(j.policy.Peak.Notice):
		f.Verdict = Pass
		f.Message = "notice: " + found
	default:
		f.Verdict = Pass
		f.Message = found
	}
	j.add(f)
}
