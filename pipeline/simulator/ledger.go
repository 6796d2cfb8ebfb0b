package simulator

import (
	"cmp"
	"slices"

	"vramsoak/pipeline/allocator"
)

// A part is the index of a Part in a ledger.
type part int

// A ledger counts the allocated bytes by their use, such as "weights of asr": the bytes now, and
// the bytes at the highest level since begin.
type ledger struct {
	parts     []Part // with their current Bytes
	allocated int64
	top       int64   // the highest level
	atTop     []int64 // bytes of each part at the highest level; stale while rising
	rising    bool    // the level is at its highest now
}

// part adds a kind of memory and returns its index.
func (l *ledger) part(kind PartKind, name string) part {
	l.parts = append(l.parts, Part{Kind: kind, Name: name})
	l.atTop = append(l.atTop, 0)
	return part(len(l.parts) - 1)
}

func (l *ledger) take(p part, bytes int64) {
	l.parts[p].Bytes += bytes
	if l.allocated += bytes; l.allocated > l.top {
		l.top, l.rising = l.allocated, true
	}
}

func (l *ledger) give(p part, bytes int64) {
	l.settle()
	l.parts[p].Bytes -= bytes
	l.allocated -= bytes
}

// move counts bytes under another part from now on.
func (l *ledger) move(from, to part, bytes int64) {
	l.settle()
	l.parts[from].Bytes -= bytes
	l.parts[to].Bytes += bytes
}

// settle records the parts of the highest level. It is called before the level falls.
func (l *ledger) settle() {
	if !l.rising {
		return
	}
	l.rising = false
	for i := range l.parts {
		l.atTop[i] = l.parts[i].Bytes
	}
}

// begin starts a new search for the highest level.
func (l *ledger) begin() {
	l.top, l.rising = l.allocated, true
}

// reset sets all parts to 0 after the end of a process.
func (l *ledger) reset() {
	for i := range l.parts {
		l.parts[i].Bytes = 0
	}
	l.allocated = 0
	l.begin()
}

// highest returns the parts of the highest level, largest first.
func (l *ledger) highest() []Part {
	l.settle()
	return l.nonzero(func(i int) int64 { return l.atTop[i] })
}

// present returns the current parts, largest first.
func (l *ledger) present() []Part {
	return l.nonzero(func(i int) int64 { return l.parts[i].Bytes })
}

func (l *ledger) nonzero(bytes func(i int) int64) []Part {
	var all []Part
	for i, p := range l.parts {
		if p.Bytes = bytes(i); p.Bytes > 0 {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

// A holding is memory that is allocated and freed together: a model's weights, or all tensors of
// one name.
type holding struct {
	name   string
	part   part
	blocks []held
	bytes  int64
	// cleaned is true if a cleanup names the holding.
	cleaned bool
}

// held is one allocation.
type held struct {
	block allocator.Block
	bytes int64
}
