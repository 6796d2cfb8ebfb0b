package check

import (
	"cmp"
	"fmt"
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// darkBlur is how many times the growth that is allowed a file the driver's samples around a file's end may differ for that
// file to count: memory was on the move there, and where in between it was is not known.
const darkBlur = 4

// An ending is a file's last checkpoint that has reserved and no device used: the driver's samples beside it may have that.
type ending struct {
	ref      fileRef
	line     int
	time     time.Time
	reserved record.Size
}

// A darkLedger is the dark memory at the ends of files.
type darkLedger struct {
	column
	endings []ending
	joined  column // of the endings
	// ends are the files that have reserved at their end. Of them, unseen have no samples near, and blurred some that differ
	// too much.
	ends, unseen, blurred int
	ofDevice              bool // joined is by samples of the whole device
}

// darkEnd notes a file's last checkpoint. Only a log of the harness has samples.
func (l *ledger) darkEnd(ref fileRef, c *record.Checkpoint, supervised bool) {
	reserved, ok := c.Get(record.Reserved)
	if !ok || !c.Has(record.Used) && !supervised {
		return
	}
	if l.dark == nil {
		l.dark = &darkLedger{}
	}
	d := l.dark
	if used, ok := c.Get(record.Used); ok {
		d.add(ref, float64(used.Bytes-reserved.Bytes), float64(used.Resolution+reserved.Resolution))
	} else if len(d.files) == 0 {
		d.endings = append(room(d.endings), ending{ref, c.Pos.Line, c.Time, reserved})
	}
}

// darkness is the ledger's dark memory.
func (l *ledger) darkness() *darkLedger { return cmp.Or(l.dark, &darkLedger{}) }

// values are the dark memory: what the checkpoints say, or where they say nothing what the samples beside them do.
func (d *darkLedger) values() *column {
	if len(d.files) > 0 {
		return &d.column
	}
	return &d.joined
}

// ours says that the values are of the pipeline alone, as far as is known.
func (d *darkLedger) ours() bool { return len(d.files) > 0 || !d.ofDevice }

// joinSamples gives the ledgers device used from the harness's samples where no checkpoint has it.
func (j *Judge) joinSamples() *timeline.Beside {
	lanes := make([]record.Lane, len(j.ledgers))
	for i, l := range j.ledgers {
		lanes[i] = l.lane
	}
	beside := timeline.NewBeside(j.tl, lanes)
	for _, l := range j.ledgers {
		d := l.dark
		if d == nil {
			continue
		}
		d.joined, d.ends, d.unseen, d.blurred, d.ofDevice = column{}, 0, 0, 0, false
		if len(d.files) > 0 {
			continue
		}
		most := darkBlur * j.policy.DarkMemory.MaxGrowth.Bytes / 2
		for _, e := range d.endings {
			f := j.file(e.ref)
			driver := beside.Of(f.Run, l.lane)
			if driver == nil {
				continue
			}
			d.ends++
			used, ok := driver.At(record.Header{Pos: record.Position{Line: e.line}, Time: e.time})
			switch {
			case !ok:
				d.unseen++
			case used.Resolution > most:
				d.blurred++
			default:
				d.joined.add(e.ref, float64(used.Bytes-e.reserved.Bytes), float64(used.Resolution+e.reserved.Resolution))
				d.ofDevice = d.ofDevice || driver.Source == record.SourceDevice
			}
		}
	}
	return beside
}

// darkMemory judges the growth of what the allocator does not see.
func (j *Judge) darkMemory(l *ledger) {
	d := l.darkness()
	w := j.worst(&drift{
		check: DarkGrowth, subject: j.subject(DarkMemory, l.lane), unit: Bytes,
		limit:   float64(j.policy.DarkMemory.MaxGrowth.Bytes),
		missing: "no file ends with a checkpoint that has both device used (used=) and reserved",
	}, j.processes(d.values()))
	f := w.finding
	if d.ends > 0 {
		known := fmt.Sprintf("device used is that of the driver's samples beside the checkpoints, which tell it at the ends of %d of %s",
			len(d.joined.files), Plural(d.ends, "file"))
		if d.blurred > 0 {
			known += fmt.Sprintf(" (at %d it was moving by more than %s)", d.blurred,
				record.FormatBytes(darkBlur*j.policy.DarkMemory.MaxGrowth.Bytes))
		}
		switch {
		case len(d.joined.files) == 0 && f.Verdict == Skipped:
			f.Message = known + "; print used= at a file's last checkpoint"
		case f.Verdict == Skipped:
			f.Message += "; " + known + "; print used= there"
		default:
			f.Message += "; " + known
		}
	}
	if !d.ours() && f.Verdict == Fail {
		f.Verdict = Undecided
		f.Message += "; the driver does not tell processes apart here, and it may be another's: soak where nothing else runs on the device, " +
			"or outside of the container"
	}
	j.add(f)
}
