package check

import (
	"fmt"

	"vramsoak/parser"
)

// A peakMark is the high-water mark of a ledger, by its share of the device's total.
type peakMark struct {
	low, high   float64 // bounds of the largest share
	mark, total parser.Size
	reserved    int64
	name        string // of the checkpoint; "" before the first
	pos         parser.Position
	file        fileRef
	seen        bool
}

func (p *peakMark) add(level parser.Quantity, file fileRef, c *parser.Checkpoint) {
	t, hasTotal := c.Get(parser.Total)
	if !hasTotal || t.Bytes <= 0 {
		return
	}
	size, ok := c.Get(level)
	if m, has := c.Get(parser.Peak); has && m.Bytes > size.Bytes {
		size, ok = m, true
	}
	if !ok {
		return
	}
	p.reserved = max(p.reserved, c.Bytes(parser.Reserved))
	p.low = max(p.low, float64(size.Low())/float64(t.High()))
	p.high = max(p.high, float64(size.High())/float64(max(1, t.Low())))
	if !p.seen || float64(size.Bytes)*float64(p.total.Bytes) > float64(p.mark.Bytes)*float64(t.Bytes) {
		p.seen, p.mark, p.total, p.name, p.pos, p.file = true, size, t, c.Name, c.Pos, file
	}
}

// peak compares the high-water mark of a ledger with the device's total: up to 70 % is normal, up to the policy's maximum
// (85 %) a notice, above it critical. The bounds are those at which the transcription pipelines warn.
func (j *Judge) peak(l *ledger) {
	f := Finding{Check: Peak, Subject: j.subject("high-water mark", l.lane), Unit: Ratio, Limit: new(float64(j.policy.Peak.Max))}
	p := &l.peak
	if !p.seen {
		f.Verdict, f.Limit, f.Unit = Skipped, nil, ""
		f.Message = "the log gives no total of the device beside a reading"
		j.add(f)
		return
	}
	file, mark, total, reserved := j.file(p.file), p.mark, p.total, p.reserved
	share := float64(mark.Bytes) / float64(total.Bytes)
	f.Measured, f.At = new(share), new(p.pos)
	f.File = file.Index
	found := fmt.Sprintf("%s of %s (%s) at %s, %s", mark, total, percent(share), p.name, fileName(file))
	if reserved > mark.Bytes {
		found += fmt.Sprintf("; reserved up to %s (%s)", parser.FormatBytes(reserved), percent(float64(reserved)/float64(total.Bytes)))
	}
	maximum := float64(j.policy.Peak.Max)
	switch {
	case p.low > maximum:
		f.Verdict = Fail
		f.Message = "critical: " + found + "; take a smaller batch or model, or a larger card"
	case p.high > maximum:
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
