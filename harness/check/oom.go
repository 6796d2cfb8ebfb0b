package check

import (
	"fmt"
	"strings"

	"vramsoak/parser"
)

// outOfMemory judges the allocations that failed, by file: recovered where the file ended ok all the same, else fatal. A
// log that does not say how its files ended leaves it open where the file went on to its last checkpoint: so it does after
// a fallback, and so it does where the clean-up after the error prints its checkpoints.
func (j *judge) outOfMemory() {
	f := Finding{Check: OutOfMemory, Subject: "allocations", Unit: Count, Limit: new(0.0)}
	count := map[Verdict]int{} // of files and stretches between them
	first := map[Verdict]failure{}
	note := func(v Verdict, next failure) {
		if count[v]++; count[v] == 1 {
			first[v] = next
		}
	}
	for i := range j.tl.Outside {
		if f := &j.tl.Outside[i]; len(f.OOMs) > 0 {
			note(Fail, failure{f, &f.OOMs[0]}) // nothing that could have recovered from it
		}
	}
	for i := range j.tl.Files {
		file := &j.tl.Files[i]
		switch {
		case len(file.OOMs) > 0:
			note(j.outcome(file), failure{file, &file.OOMs[0]})
		case file.Status == parser.StatusOOM:
			note(Fail, failure{file, &parser.OutOfMemory{Header: parser.Header{Pos: file.EndPos}, Text: "the pipeline reported it"}})
		}
	}
	f.Measured = new(float64(count[Fail]))
	switch {
	case count[Fail] > 0:
		f.Verdict, f.Message = Fail, fmt.Sprintf("fatal in %d places", count[Fail])
		if count[Fail] == 1 {
			f.Message = "fatal"
		}
	case count[Undecided] > 0:
		f.Verdict = Undecided
		f.Message = "fatal or recovered, the log does not say how files ended (print [pipeline] file-end)"
	case count[Pass] > 0:
		f.Verdict, f.Message = Pass, "recovered, the file ended ok"
		if count[Pass] > 1 {
			f.Message = fmt.Sprintf("recovered %d times, the files ended ok", count[Pass])
		}
	default:
		f.Verdict, f.Message = Pass, "no out-of-memory message"
		j.add(f)
		return
	}
	shown := first[f.Verdict]
	f.File, f.At = shown.file.Index, new(shown.oom.Pos)
	if count[f.Verdict] > 1 {
		f.Message += ", first"
	}
	f.Message += fmt.Sprintf(" in %s: %s", fileName(shown.file), describe(shown.oom))
	j.add(f)
}

// A failure is an allocation that failed, and the file, or stretch between files, that it is in.
type failure struct {
	file *parser.File
	oom  *parser.OutOfMemory
}

// outcome says what became of a file in which an allocation failed.
func (j *judge) outcome(f *parser.File) Verdict {
	switch last := len(f.Checkpoints) - 1; {
	case f.Status == parser.StatusOK:
		return Pass
	case j.sound(f) && len(f.Unpaired) == 0 && last >= 0 && f.Checkpoints[last].Pos.Line > f.OOMs[len(f.OOMs)-1].Pos.Line:
		return Undecided
	}
	return Fail
}

// describe says what was asked for and what was there.
func describe(o *parser.OutOfMemory) string {
	if !o.HasRequested {
		return o.Text
	}
	parts := []string{"asked for " + o.Requested.String()}
	if free, ok := o.Get(parser.Free); ok {
		parts = append(parts, free.String()+" were free")
	}
	reserved, hasReserved := o.Get(parser.Reserved)
	allocated, hasAllocated := o.Get(parser.Allocated)
	if hasReserved && hasAllocated {
		parts = append(parts, parser.FormatBytes(reserved.Bytes-allocated.Bytes)+" were reserved but unallocated")
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
