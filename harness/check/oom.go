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
	count := map[Verdict]int{} // of files
	first := map[Verdict]failure{}
	note := func(v Verdict, next failure) {
		if count[v]++; count[v] == 1 {
			first[v] = next
		}
	}
	inFile := map[parser.Position]bool{}
	for i := range j.tl.Files {
		file := &j.tl.Files[i]
		for _, o := range file.OOMs {
			inFile[o.Pos] = true
		}
		switch {
		case len(file.OOMs) > 0:
			note(j.outcome(file), failure{file, &file.OOMs[0]})
		case file.Status == parser.StatusOOM:
			note(Fail, failure{file, &parser.OutOfMemory{Header: parser.Header{Pos: file.EndPos}, Text: "the pipeline reported it"}})
		}
	}
	for i := range j.tl.OOMs {
		if o := &j.tl.OOMs[i]; !inFile[o.Pos] && count[Fail] == 0 { // nothing that could have recovered from it
			note(Fail, failure{nil, o})
		}
	}
	f.Measured = new(float64(count[Fail]))
	switch {
	case count[Fail] > 0:
		f.Verdict, f.Message = Fail, "fatal in "+plural(count[Fail], "file")
		if first[Fail].file == nil {
			f.Message = "fatal, outside of any file"
		}
	case count[Undecided] > 0:
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("fatal or recovered in %s; the log does not say how files ended, print [pipeline] file-end",
			plural(count[Undecided], "file"))
	case count[Pass] > 0:
		f.Verdict, f.Message = Pass, fmt.Sprintf("recovered in %s, which ended ok", plural(count[Pass], "file"))
	default:
		f.Verdict, f.Message = Pass, "no out-of-memory message"
		j.add(f)
		return
	}
	shown := first[f.Verdict]
	f.At = new(shown.oom.Pos)
	if shown.file != nil {
		f.File = shown.file.Index
		f.Message += ", first in " + fileName(shown.file)
	}
	f.Message += ": " + describe(shown.oom)
	j.add(f)
}

// A failure is an allocation that failed, and its file, nil outside of files.
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
