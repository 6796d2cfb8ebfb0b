package simulator

import (
	"cmp"
	"slices"

	"vramsoak/pipeline/allocator"
)

// A part is the index of a use of memory, such as "weights of asr", in a ledger.
type part int

// A ledger counts the allocated bytes by their use, such as "weights of asr". It has the present
// bytes of each use, and the bytes of each use at the moment, since the last call of begin, at
// which their sum was highest.
type ledger struct {
	parts     []Part // with their current Bytes
	allocated int64
	top       int64   // the highest level
	atTop     []int64 // bytes of each part at the highest level; stale while rising
	rising    bool    // the present level is the highest
}

// part returns the index of a use of memory. If the ledger does not have it yet, part adds it.
func (l *ledger) part(kind PartKind, name string) part {
	for i, known := range l.parts {
		if known.Kind == kind && known.Name == name {
			return part(i)
		}
	}
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

// move counts bytes under another use from now on, for example if a fault keeps a tensor.
func (l *ledger) move(from, to part, bytes int64) {
	l.settle()
	l.parts[from].Bytes -= bytes
	l.parts[to].Bytes += bytes
}

// settle records how many bytes each use has, if their sum is at its highest now. It must be called
// before the sum falls.
func (l *ledger) settle() {
	if !l.rising {
		return
	}
	l.rising = false
	for i := range l.parts {
		l.atTop[i] = l.parts[i].Bytes
	}
}

// begin forgets the highest sum and starts a new search for it.
func (l *ledger) begin() {
	l.top, l.rising = l.allocated, true
}

// reset sets the bytes of all uses to 0, because the process ended.
func (l *ledger) reset() {
	for i := range l.parts {
		l.parts[i].Bytes = 0
	}
	l.allocated = 0
	l.begin()
}

// highest returns the uses with their bytes at the time of the highest sum, the largest first.
func (l *ledger) highest() []Part {
	l.settle()
	return l.nonzero(func(i int) int64 { return l.atTop[i] })
}

// present returns the uses with their present bytes, the largest first.
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

// A holding is memory that is allocated and freed together: the weights of one model, or all
// allocations of one tensor of a stage.
type holding struct {
	name   string
	part   part
	blocks []held
	bytes  int64
	// cleaned is true if a cleanup of the scenario names the holding.
	cleaned bool
}

// held is one allocation with its size.
type held struct {
	block allocator.Block
	bytes int64
}
