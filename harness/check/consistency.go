package check

import (
	"fmt"

	"vramsoak/parser"
)

// consistency demands allocated <= reserved <= total at every checkpoint, as far as the printed digits tell. A log that
// breaks it is a wrong log, not a leak.
func (j *judge) consistency(lane parser.Lane) {
	f := Finding{Check: Consistency, Subject: j.subject("allocated <= reserved <= total", lane), Unit: Count, Limit: new(0.0)}
	compared, broken := 0, 0
	order := []parser.Quantity{parser.Allocated, parser.Reserved, parser.Total}
	for _, c := range j.readings[lane] {
		wrong := ""
		for i, small := range order {
			for _, large := range order[i+1:] {
				s, hasSmall := c.Get(small)
				l, hasLarge := c.Get(large)
				if !hasSmall || !hasLarge {
					continue
				}
				compared++
				if s.Low() > l.High() && wrong == "" {
					wrong = fmt.Sprintf("%s %s is more than %s %s", small, s, large, l)
				}
			}
		}
		if wrong == "" {
			continue
		}
		broken++
		if broken == 1 {
			f.At = new(c.Pos)
			f.Message = fmt.Sprintf("%s at %q", wrong, c.Name)
			f.File = c.file.Index
			f.Message += ", " + fileName(c.file)
		}
	}
	switch {
	case broken > 0:
		f.Verdict, f.Measured = Fail, new(float64(broken))
		f.Message += "; the log is wrong: see which program wrote it, and in which unit"
		if broken > 1 {
			f.Message += fmt.Sprintf(" (%d checkpoints in all)", broken)
		}
	case compared == 0:
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "no checkpoint gives two of the three"
	default:
		f.Verdict, f.Measured = Pass, new(0.0)
		f.Message = "holds at every checkpoint"
	}
	j.add(f)
}

// unreadable reports the lines that look like records and cannot be read: what they would have said is not judged.
func (j *judge) unreadable() {
	j.failedReadings()
	if len(j.tl.Bad) == 0 {
		return
	}
	first := j.tl.Bad[0]
	j.add(Finding{
		Check: Consistency, Verdict: Undecided, Subject: "unreadable lines", Unit: Count,
		Measured: new(float64(len(j.tl.Bad))), Limit: new(0.0), At: new(first.Pos),
		Message: fmt.Sprintf("%s cannot be read; the first: expected %s, found %q; %s", plural(len(j.tl.Bad), "line"),
			first.Expected, first.Found, first.Advice),
	})
}

// failedReadings reports the checkpoints that the pipeline could not take: "Failed to log GPU memory: ...".
func (j *judge) failedReadings() {
	f := Finding{Check: Consistency, Verdict: Undecided, Subject: "failed readings", Unit: Count, Limit: new(0.0)}
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
		f.Message = fmt.Sprintf("the pipeline could not read its memory %s; the first: %s", plural(n, "time"), f.Message)
		j.add(f)
	}
}
