package check

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// An orderMark counts how often two quantities of a reading were compared, and how many readings
// break the order allocated <= reserved <= total.
type orderMark struct {
	compared, broken int
	first            *disorder // the first reading that breaks the order, or nil
	reserved         int64     // the largest reserved memory so far
}

// A disorder is a reading that breaks the order allocated <= reserved <= total.
type disorder struct {
	what string
	why  string // what may have happened, and what to print instead
	pos  record.Position
	file *timeline.File
}

// order lists the quantities from the one that must be smallest to the one that must be largest.
var order = [...]record.Quantity{record.Allocated, record.Reserved, record.Total}

func (o *orderMark) add(f *timeline.File, c *record.Checkpoint) {
	r, hasReserved := c.Get(record.Reserved)
	o.reserved = max(o.reserved, r.Bytes)
	if a, has := c.Get(record.Allocated); has {
		if t, has := c.Get(record.Total); has && hasReserved && a.Bytes <= r.Bytes && r.Bytes <= t.Bytes {
			o.compared += 3 // true of nearly all readings
			return
		}
	}
	wrong := false
	for i, small := range order {
		s, has := c.Get(small)
		if !has {
			continue
		}
		for _, large := range order[i+1:] {
			l, has := c.Get(large)
			if !has {
				continue
			}
			o.compared++
			if s.Low() > l.High() && !wrong {
				wrong = true
				if o.broken++; o.broken == 1 {
					what := fmt.Sprintf("%s %s is more than %s %s at %q", small, s, large, l, c.Name)
					o.first = &disorder{what, o.explain(small, large, s, l), c.Pos, f}
				}
			}
		}
	}
}

// wrongLog is what a reading means that no allocator can give.
const wrongLog = "the log is wrong: check which program wrote it, and its unit"

// decimalShare is how many decimal GB a GiB has: a figure divided by 1e9 is so much larger than the
// same figure divided by 1024^3.
const decimalShare = 1.073741824

// explain returns what the log may have printed in place of two quantities that break the order.
func (o *orderMark) explain(small, large record.Quantity, s, l record.Size) string {
	if small != record.Allocated || large != record.Reserved {
		return wrongLog
	}
	why := "an allocator never hands out more than it has reserved, so the two figures do not " +
		"belong together"
	switch {
	case float64(s.Low()) <= decimalShare*float64(l.High()):
		why += ": one figure is in GB (10^9) and the other in GiB, or a peak (max_memory_allocated) " +
			"is beside memory_reserved"
	case s.Low() <= o.reserved:
		why += fmt.Sprintf(": %s had been reserved before, so allocated may be a peak of that time "+
			"(max_memory_allocated)", record.FormatBytes(o.reserved))
	default:
		why += ": the two are swapped, or a peak (max_memory_allocated) is beside memory_reserved"
	}
	return why + "; print torch.cuda.memory_allocated() and torch.cuda.memory_reserved() together, " +
		"in bytes, and the peak as peak=; findings that use this reading may be wrong"
}

// consistency judges whether allocated <= reserved <= total at every checkpoint. A reading breaks
// this order only if it does so for every value that the printed digits allow. Then the log is
// wrong; it does not mean that memory leaks.
func (j *Judge) consistency(l *lane) {
	f := Finding{
		Check: Consistency, Subject: j.subject("allocated <= reserved <= total", l.id),
		Unit: Count, Limit: new(0.0),
	}
	compared, broken := l.order.compared, l.order.broken
	if first := l.order.first; first != nil {
		f.At, f.File = new(first.pos), first.file.Index
		f.Message = first.what + ", " + fileName(first.file)
	}
	switch {
	case broken > 0:
		f.Verdict, f.Measured = Fail, new(float64(broken))
		if broken > 1 {
			f.Message += fmt.Sprintf(" (%d checkpoints in all)", broken)
		}
		f.Message += "; " + l.order.first.why
	case compared == 0:
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "no checkpoint gives two of the three"
	default:
		f.Verdict, f.Measured, f.absent = Pass, new(0.0), true
		f.Message = "holds at every checkpoint"
	}
	j.add(f)
}

// unreadable adds a finding if lines look like records but cannot be parsed, because the report
// lacks their readings.
func (j *Judge) unreadable() {
	j.failedReadings()
	if len(j.tl.Bad) == 0 {
		return
	}
	first := j.tl.Bad[0]
	j.add(Finding{
		Check: Consistency, Verdict: Undecided, Subject: "unreadable lines", Unit: Count,
		Measured: new(float64(len(j.tl.Bad))), Limit: new(0.0), At: new(first.Pos),
		Message: fmt.Sprintf("%s cannot be read; the first: expected %s, found %q; %s",
			Plural(len(j.tl.Bad), "line"),
			first.Expected, first.Found, first.Advice),
	})
}

// failedReadings adds a finding on checkpoints at which the pipeline could not read its memory:
// "Failed to log GPU memory: ...".
func (j *Judge) failedReadings() {
	f := Finding{
		Check: Consistency, Verdict: Undecided, Subject: "failed readings", Unit: Count, Limit: new(0.0),
	}
	n := 0
	for i := range j.tl.Warnings {
		if w := &j.tl.Warnings[i]; w.Level == "failed" {
			if n++; n == 1 {
				f.At, f.Message = new(w.Pos), w.Text
			}
		}
	}
	if n > 0 {
		f.Measured = new(float64(n))
		f.Message = fmt.Sprintf("the pipeline could not read its memory %s; the first: %s",
			Plural(n, "time"), f.Message)
		j.add(f)
	}
}
