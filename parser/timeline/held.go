package timeline

import (
	"slices"
	"strings"

	"vramsoak/parser/record"
)

// baseOf returns the name of the process that may have printed the lines of another name, see
// [heldFailures]. A launcher may have numbered the lines: "task 1 rank 3" is of "rank 1", and
// "task 1 local 0 rank 2" is of "task 1 rank 0". If there is no such process, the name itself is
// returned.
func (s *streams) baseOf(writer string) string {
	base := record.WithoutRank(writer)
	if base != writer && s.has(base) {
		return base
	}
	for _, word := range []string{"local ", "task "} {
		i := strings.LastIndex(base, word)
		if i < 0 {
			continue
		}
		if of := streamName(base[:i] + "rank " + base[i+len(word):]); s.has(of) {
			return of
		}
	}
	return writer
}

// heldFailures are the failures of a process whose name has a rank, and which did nothing else so
// far. torch.distributed puts the rank before the lines of an exception alone. So this may be the
// process that prints the lines without the rank. The log shows it at its end: that process did no
// more work after the failures, and no other rank failed in this way.
type heldFailures struct {
	writer, base string // the name with the rank and without it
	records      []record.Record
}

// maxHeld is the most records of a process that are held.
const maxHeld = 64

// hold keeps a record until the log shows which process it belongs to, and reports whether it did
// so. It lets go of what the record shows to be of two processes.
func (b *Builder) hold(rec record.Record) bool {
	if b.log.supervised {
		return false
	}
	s := &b.log.streams
	writer, fails, works := shownBy(rec)
	writer = streamName(writer)
	if !fails && len(s.held) == 0 {
		return false
	}
	if works {
		b.letGo(func(h heldFailures) bool { return h.writer == writer || h.base == writer })
		return false
	}
	i := slices.IndexFunc(s.held, func(h heldFailures) bool { return h.writer == writer })
	if i < 0 {
		base := s.baseOf(writer)
		if !fails || base == writer || s.has(writer) {
			return false
		}
		i = len(s.held)
		s.held = append(s.held, heldFailures{writer: writer, base: base})
	}
	h := &s.held[i]
	if h.records = append(h.records, rec); len(h.records) > maxHeld || len(s.held) > maxHeld {
		b.letGo(func(heldFailures) bool { return true })
	}
	return true
}

// letGo gives failures that were held to streams of their own.
func (b *Builder) letGo(which func(heldFailures) bool) {
	s := &b.log.streams
	for i := 0; i < len(s.held); {
		h := s.held[i]
		if !which(h) {
			i++
			continue
		}
		s.held = slices.Delete(s.held, i, i+1)
		for _, rec := range h.records {
			b.deliver(rec)
		}
	}
}

// settle gives the failures that are still held at the end of a log to the process that printed
// the lines without the rank, unless several ranks failed.
func (b *Builder) settle() {
	s := &b.log.streams
	for i := 0; i < len(s.held); {
		h := s.held[i]
		if slices.ContainsFunc(s.held, func(other heldFailures) bool {
			return other.base == h.base && other.writer != h.writer
		}) {
			i++
			continue
		}
		s.held = slices.Delete(s.held, i, i+1)
		to := b
		if h.base != s.writer {
			to = s.byName[h.base]
		}
		for _, rec := range h.records {
			switch r := rec.(type) {
			case record.OutOfMemory:
				r.Writer, r.Lane.Rank = h.base, 0
				rec = r
			case record.Crash:
				r.Writer, r.Lane.Rank = h.base, 0
				rec = r
			}
			b.route(&rec)
			to.add(rec)
		}
	}
	b.letGo(func(heldFailures) bool { return true })
}
