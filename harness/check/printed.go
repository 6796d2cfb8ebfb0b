package check

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A printedMark counts what the pipeline says that its cleanups freed, and which of these lines do
// not follow from the log's own readings.
type printedMark struct {
	compared, wrong int
	first           string // a sentence on the first wrong line
}

// notePrinted compares what the pipeline says that a cleanup freed with the readings around the
// cleanup:
//
//	Memory recovered: 7.05GB (97%)
func (j *Judge) notePrinted(f *timeline.File) {
	if f.Events == nil {
		return
	}
	for i := range f.Events.Printed {
		p := &f.Events.Printed[i]
		before, after := cleanupAt(f, p)
		if before == nil {
			continue
		}
		j.printed.compared++
		if why := contradicts(p, before, after); why != "" {
			if j.printed.wrong++; j.printed.wrong == 1 {
				j.printed.first = fmt.Sprintf("%s says %s, and %s", p.Pos, printedWords(p), why)
			}
		}
	}
}

// printedNote returns the note on lines that do not follow from the log's own readings, or "".
func (j *Judge) printedNote() string {
	switch n := j.printed.wrong; n {
	case 0:
		return ""
	case 1:
		return "a recovery that the log prints does not follow from its own readings: " + j.printed.first
	default:
		return fmt.Sprintf("%d of %d recoveries that the log prints do not follow from its own "+
			"readings, first: %s", n, j.printed.compared, j.printed.first)
	}
}

// cleanupAt returns the checkpoints before and after the cleanup, or the stage, that a printed
// recovery is about: the one that ended last above its line or, if none has ended since the line
// before, the one that ends next.
func cleanupAt(f *timeline.File, p *record.Change) (before, after *record.Checkpoint) {
	type pair struct{ before, after int }
	var pairs []pair
	for _, c := range f.Cleanups {
		pairs = append(pairs, pair{c.Before, c.After})
	}
	if len(pairs) == 0 {
		for _, s := range f.Stages {
			pairs = append(pairs, pair{s.Before, s.After})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return a.after - b.after })
	at, _ := slices.BinarySearchFunc(pairs, p.Pos.Line, func(a pair, line int) int {
		return f.Checkpoints[a.after].Pos.Line - line
	})
	if at < len(pairs) && f.Checkpoints[pairs[at].before].Pos.Line < p.Pos.Line {
		at++ // the line is between the two checkpoints
	}
	if at == 0 {
		return nil, nil
	}
	chosen := pairs[at-1]
	return &f.Checkpoints[chosen.before], &f.Checkpoints[chosen.after]
}

// contradicts returns why a printed recovery does not follow from the readings before and after
// the cleanup, or "". The share may be of all that was allocated, or of what the cleanup should
// free. It may be rounded or cut off at its last digit.
func contradicts(p *record.Change, before, after *record.Checkpoint) string {
	for _, q := range []record.Quantity{record.Allocated, record.Reserved} {
		top, ok := before.Get(q)
		bottom, okAfter := after.Get(q)
		if !ok || !okAfter {
			continue
		}
		freed := record.Size{
			Bytes: top.Bytes - bottom.Bytes, Resolution: top.Resolution + bottom.Resolution,
		}
		wrong := false
		if said, has := p.Get(q); has {
			apart := max(said.Bytes-freed.Bytes, freed.Bytes-said.Bytes)
			wrong = apart > said.Resolution+freed.Resolution
		}
		if p.PercentStep > 0 && q == record.Allocated {
			fits := sharesFit(p, top, bottom, top)
			if holds, has := before.Get(record.Holds); has {
				fits = fits || sharesFit(p, top, bottom, holds)
			}
			wrong = wrong || !fits
		}
		if wrong {
			return fmt.Sprintf("from %q (%s) to %q (%s) it freed %s (%s of all that was allocated, "+
				"(before - after) / before)", before.Name, top, after.Name, bottom,
				record.FormatBytes(freed.Bytes), percent(ratioOf(freed.Bytes, top.Bytes)))
		}
	}
	return ""
}

// sharesFit reports whether the printed share may be (top - bottom) / of.
func sharesFit(p *record.Change, top, bottom, of record.Size) bool {
	low := 100 * ratioOf(top.Low()-bottom.High(), of.High())
	high := 100 * ratioOf(top.High()-bottom.Low(), of.Low())
	const exact = 1e-9
	return p.Percent <= high+p.PercentStep/2+exact && p.Percent+p.PercentStep >= low-exact
}

// ratioOf returns a / b, or 0 if b is not above 0.
func ratioOf(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return math.Min(1e6, float64(a)/float64(b))
}

// printedWords returns what a line says that a cleanup freed: "7.05 GiB (97 %)".
func printedWords(p *record.Change) string {
	size, has := p.Get(record.Allocated)
	share := fmt.Sprintf("%g %%", p.Percent)
	switch {
	case p.PercentStep == 0:
		return size.String()
	case !has:
		return share
	}
	return size.String() + " (" + share + ")"
}
