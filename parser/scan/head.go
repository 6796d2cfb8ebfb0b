package scan

import (
	"bytes"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// A Head is the part of a line that precedes a record. It may contain the prefixes of containers,
// launchers and loggers, and the first words of the program's message:
//
//	2026-11-20T02:00:03.123Z  [rank3]:  ERROR - asr -  while loading: CUDA error: out of memory
//	time                      Rank                     Words          the record
//
// Dialects ask the head for these parts and never parse them. So a new logger's prefix needs code
// only here and in package source. [Line.Head] caches the head. Each part is parsed when a dialect
// first asks for it, because most records need only the time.
type Head struct {
	line *Line
	at   int // offset of the record in the line; -1 if no head is cached
	// message is the result of [source.MessageStart], or -1 if no dialect asked for it yet.
	message int
	// prefix is the result of [source.LoggerEnd], or -1 if no dialect asked for it yet.
	prefix int
	times  stamp.Line // the times found in the line, for all records of the line
	timed  bool       // times is of this line
}

// forget drops the cached head, because the scanner goes on to another line.
func (h *Head) forget() { h.at, h.prefix, h.timed = -1, -1, false }

// Logger returns the length of the prefix that a logger put before the line, see
// [source.LoggerEnd]. Dialects that expect their text at the line's beginning look for it there.
func (l *Line) Logger() int {
	if h := &l.head; h.prefix < 0 {
		h.prefix = source.LoggerEnd(l.Text)
	}
	return l.head.prefix
}

// Logged returns the line without the prefix of a logger.
func (l *Line) Logged() []byte { return l.Text[l.Logger():] }

// Head returns the head of the line for a record that begins at an offset of the text. The head is
// valid until Head is called with another offset or on another line.
func (l *Line) Head(at int) *Head {
	if h := &l.head; h.at != at {
		h.at, h.message = at, -1
	}
	return &l.head
}

// Header returns the header for a record that begins at an offset of the text. Its time is the time
// that the line gives, see [stamp.Line.RecordTime]. If a dialect reads a block of lines and this
// line gives no time, it is the time of the block's first line.
func (l *Line) Header(at int) (h record.Header) {
	l.Head(at).fill(&h)
	return h
}

// fill sets the fields of a header that is zero, see [Line.Header].
func (h *Head) fill(to *record.Header) {
	l := h.line
	// The number counts from the window's first line, see [Batch].
	to.Pos.Path, to.Pos.Line, to.Dialect = l.s.path, l.lineNumber()+1, l.s.reading
	last := &l.s.stamp
	if l.s.writer == nil && h.at <= stamp.SearchLimit && last.Reuse(l.Text[:h.at], to) {
		to.Writer = l.s.reused // only the seconds differ from the head of an earlier line
		return
	}
	to.Writer = h.writer()
	if line, head, ok := l.s.wrapper(l.start); ok {
		t, outer := h.wrappedTime(line, head)
		t.Into(to)
		to.Outer = outer
	} else if begin := min(h.at, stamp.SearchLimit); !last.Reuse(l.Text[:begin], to) {
		h.lineTimes().RecordTime(l.Text, h.at, last).Into(to)
		if last.Holds(l.Text[:begin]) {
			l.s.reused = to.Writer
		}
	}
	if to.Time.IsZero() && l.first < l.start {
		end, _ := l.s.win.LineEnd(l.first)
		first := source.PlainText(l.s.win.Buf[l.first:end])
		new(stamp.Line).RecordTime(first, len(first), last).Into(to)
	}
}

// wrappedTime returns the time of a record in a wrapped line. The parameter head is the number of
// the line's bytes before the program's text. The wrapper's time counts, unless the program gives
// one with more detail, such as a year. If the wrapper gives whole seconds, the program's fraction
// of a second is added. The result outer is set if the time is the wrapper's.
func (h *Head) wrappedTime(line []byte, head int) (t stamp.Stamp, outer bool) {
	l := h.line
	inner, from := lastTime(line[:head])
	t = new(stamp.Line).RecordTime(line, from, &l.s.stamp)
	switch {
	case t.IsZero() && !inner.IsZero(): // it is the wrapper's
		t, inner = inner, stamp.Stamp{}
	case t.Detail() == stamp.Full && t.Nanosecond() != 0:
		return t, true
	}
	if inner.IsZero() && (t.Detail() < stamp.Full || t.Nanosecond() == 0) {
		inner = h.lineTimes().RecordTime(l.Text, h.at, &l.s.stamp)
	}
	if inner.Detail() > t.Detail() {
		return inner, false
	}
	if t.Detail() == stamp.Full && t.Nanosecond() == 0 && inner.Nanosecond() != 0 {
		t.Time = t.Add(clockApart(inner.Time, t.Time))
	}
	return t, !t.IsZero()
}

// lastTime returns the time that ends a text, and the offset at which it begins. The text is what
// precedes the program's text in a wrapped line. The program's own time may be its last word,
// because it looks like a wrapper's:
//
//	Nov 20 02:00:03 gpu1 asr[4711]: 2026-11-20T02:00:03.123Z
//
// If the last word is not a time with a date and a zone, the offset is that of the text's end.
func lastTime(before []byte) (t stamp.Stamp, from int) {
	text := bytes.TrimRight(before, " \t")
	from = bytes.LastIndexByte(text, ' ') + 1
	if word := text[from:]; len(word) >= len("2026-11-20T02:00:03") && lex.IsDigit(word[0]) {
		if t = stamp.Parse(word); t.Detail() == stamp.Full {
			return t, from
		}
	}
	return stamp.Stamp{}, len(before)
}

// clockApart returns how much later the time a is than b, if their clocks agree but for the zone.
// Otherwise it returns 0. Zones differ by quarters of an hour.
func clockApart(a, b time.Time) time.Duration {
	const zone, most = 15 * time.Minute, 2 * time.Second
	apart := time.Duration(a.Minute()-b.Minute())*time.Minute +
		time.Duration(a.Second()-b.Second())*time.Second +
		time.Duration(a.Nanosecond()-b.Nanosecond())
	apart -= apart.Round(zone)
	if apart.Abs() >= most {
		return 0
	}
	return apart
}

// lineTimes returns the cache of the times that were found in this line.
func (h *Head) lineTimes() *stamp.Line {
	if !h.timed {
		h.times, h.timed = stamp.Line{}, true
	}
	return &h.times
}

// Message returns the offset in the line at which the program's message begins. The record may
// begin later in the message.
func (h *Head) Message() int {
	if h.message < 0 {
		h.message = source.MessageStart(h.line.Text[:h.at])
	}
	return h.message
}

// Words returns the part of the message that precedes the record, without the name of the process
// that a launcher put there.
func (h *Head) Words() []byte {
	return source.WithoutProcess(h.line.Text[h.Message():h.at])
}

// Rank returns the rank that a launcher or a logger put before the record, or 0.
func (h *Head) Rank() int {
	rank, _ := record.WriterRank(h.writer())
	return rank
}

// writer returns the name of the process that printed the line, see [record.Header]. The wrapper
// and the logger give it. If both give a rank, the logger's counts.
func (h *Head) writer() string {
	inner := h.line.s.strings.str(source.WriterIn(h.line.Text[:h.at]))
	if w := h.line.s.writer; w != nil && w.name != "" {
		return h.line.s.strings.join(w.name, inner)
	}
	return inner
}

// EndsPrefix reports whether only what precedes a message precedes the record: a logger's prefix or
// the name of a process.
func (h *Head) EndsPrefix() bool {
	return len(bytes.TrimSpace(h.Words())) == 0
}

// InSource reports whether the record is a string in program source, see [source.InSource].
func (h *Head) InSource() bool {
	before := h.line.Text[:h.at]
	return source.InSource(before) || bytes.ContainsAny(lex.LastBytes(before, 32), `"'`) &&
		source.InSource(before[min(h.line.Logger(), h.at):])
}

// speaker returns the name of the process that printed the message at an offset, as the wrapper and
// the head give it, or "".
func (h *Head) speaker(message int) string {
	if h.at >= 0 {
		if name := h.writer(); name != "" {
			return name
		}
	}
	if h.at < 0 || h.at > source.MessageMax { // the beginning of a long line names the process
		return source.SpeakerOf(h.line.Text, message)
	}
	return source.SpeakerIn(h.line.Text[:h.Message()], h.line.Text[:message])
}
