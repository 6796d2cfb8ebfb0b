package snapshot

import (
	"fmt"

	"vramsoak/parser/lex"
)

// Limits on the notes of a snapshot, because a file may have any number of unknown keys, of any
// length.
const (
	maxNotes = 20
	maxName  = 80 // bytes of a name in a note
)

// notes collects what the reader leaves out, see [Snapshot.Notes]. Equal notes are counted.
type notes struct {
	all  []note
	more int // notes beyond maxNotes
}

// A note is one sentence. It has two forms: with one subject, and with several.
type note struct {
	one   string
	many  func(n int) string
	count int
}

// add adds a note, or counts it if it was added before.
func (n *notes) add(one string, many func(n int) string) {
	for i := range n.all {
		if n.all[i].one == one {
			n.all[i].count++
			return
		}
	}
	if len(n.all) == maxNotes {
		n.more++
		return
	}
	n.all = append(n.all, note{one, many, 1})
}

// number adds the note that a number in the file cannot be right. The parameters one and many name
// what has the number: "an event", "events".
func (n *notes) number(key, one, many, found, instead string) {
	text := func(of string) string {
		return fmt.Sprintf("the %q of %s is %s; it counts as %s", key, of, found, instead)
	}
	n.add(text(one), func(n int) string { return text(fmt.Sprintf("%d %s", n, many)) })
}

// action adds the note that an event was left out.
func (n *notes) action(name string) {
	name = lex.Shorten(name, maxName)
	n.add(fmt.Sprintf("not shown: an event %q, which vramsoak does not know", name),
		func(n int) string {
			return fmt.Sprintf("not shown: %d events %q, which vramsoak does not know", n, name)
		})
}

// key adds the note that an entry of the snapshot's dict was left out.
func (n *notes) key(name, what string) {
	text := fmt.Sprintf("not shown: %q%s", lex.Shorten(name, maxName), what)
	n.add(text, func(int) string { return text })
}

// list returns all notes, in the order in which they were added.
func (n *notes) list() []string {
	var all []string
	for _, note := range n.all {
		text := note.one
		if note.count > 1 {
			text = note.many(note.count)
		}
		all = append(all, text)
	}
	if n.more > 0 {
		all = append(all, fmt.Sprintf("and %d more such notes", n.more))
	}
	return all
}
