package check

import (
	"fmt"
	"strings"

	"vramsoak/parser"
)

// outOfMemory lists the allocations that failed. One is recovered where its file ended ok all the same, else fatal.
func (j *judge) outOfMemory() {
	f := Finding{Check: OutOfMemory, Subject: "allocations", Unit: Count, Limit: new(0.0)}
	fatal, recoveredIn := 0, 0
	var first *parser.OutOfMemory
	var where *parser.File
	note := func(file *parser.File, o *parser.OutOfMemory, bad bool) {
		if bad {
			fatal++
		} else {
			recoveredIn++
		}
		if first == nil || bad && fatal == 1 {
			first, where = o, file
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
			note(file, &file.OOMs[0], file.Status != parser.StatusOK)
		case file.Status == parser.StatusOOM:
			note(file, &parser.OutOfMemory{Header: parser.Header{Pos: file.EndPos}, Text: "the pipeline reported it"}, true)
		}
	}
	if fatal == 0 { // one outside of files has nothing that recovered from it
		for i := range j.tl.OOMs {
			if !inFile[j.tl.OOMs[i].Pos] {
				note(nil, &j.tl.OOMs[i], true)
				break
			}
		}
	}
	f.Measured = new(float64(fatal))
	switch {
	case first == nil:
		f.Verdict, f.Message = Pass, "no allocation failed"
		j.add(f)
		return
	case fatal > 0:
		f.Verdict = Fail
		f.Message = fmt.Sprintf("fatal in %s", plural(fatal, "file"))
		if where == nil {
			f.Message = "fatal, outside of any file"
		}
	default:
		f.Verdict = Pass
		f.Message = fmt.Sprintf("recovered in %s, which ended ok", plural(recoveredIn, "file"))
	}
	f.At = new(first.Pos)
	if where != nil {
		f.File = where.Index
		f.Message += ", first in " + fileName(where)
	}
	f.Message += ": " + describe(first)
	j.add(f)
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
