package merge

import (
	"fmt"

	"vramsoak/parser/timeline"
)

// notesMost is how many notes of shards are listed, and olderMost how many on older leases.
const (
	notesMost = 12
	olderMost = 8
)

// notes collects the notes of the shards. Notes that differ only in their numbers are one.
type notes struct {
	first  []string // on the run as a whole
	kinds  map[string]*note
	order  []*note
	others int
	older  []string
	more   int // further shards with lines of older leases
}

// A note is a note of the first shard that has it.
type note struct {
	text   string
	shard  int
	shards int // number of shards that have it
	last   int // the last of them
}

func (n *notes) add(s *judgedShard) {
	for _, text := range s.report.Notes {
		kind := timeline.WithoutNumbers(text)
		known := n.kinds[kind]
		switch {
		case known == nil && len(n.order) >= notesMost:
			n.others++
		case known == nil:
			if n.kinds == nil {
				n.kinds = map[string]*note{}
			}
			known = &note{text: text, shard: s.number, shards: 1, last: s.number}
			n.kinds[kind], n.order = known, append(n.order, known)
		case known.last != s.number:
			known.shards++
			known.last = s.number
		}
	}
	for _, text := range s.older {
		if len(n.older) < olderMost {
			n.older = append(n.older, text)
		} else {
			n.more++
		}
	}
}

// all returns the notes.
func (n *notes) all() []string {
	all := append(n.first, n.older...)
	if n.more > 0 {
		all = append(all, fmt.Sprintf("and %d more logs of older leases have such lines", n.more))
	}
	for _, of := range n.order {
		where := fmt.Sprintf("shard %d: ", of.shard)
		if of.shards > 1 {
			where = fmt.Sprintf("%d shards, such as shard %d: ", of.shards, of.shard)
		}
		all = append(all, where+of.text)
	}
	if n.others > 0 {
		all = append(all, fmt.Sprintf("and %d more notes of single shards; vramsoak check of a "+
			"shard's log shows them", n.others))
	}
	return all
}
