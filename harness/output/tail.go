package output

import (
	"bytes"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

const (
	tailMax   = 4 << 10 // bytes of a process's output that are kept for messages
	tailLines = 20      // enough for an error of several lines
	causeMax  = 200     // bytes of the line that says why a process ended
)

// A Tail is the end of what a process printed, for messages that say why it ended.
type Tail struct {
	text     []byte
	midLine  bool   // it begins in the middle of a line
	file     int    // where in the text the present file began
	done     int    // where in the text the last file ended
	dumpHead string // the first line of a stack dump since then; the rest may not fit the text
}

func (t *Tail) reset() { *t = Tail{text: t.text[:0]} }

// begin notes that a file begins with what follows.
func (t *Tail) begin() { t.file, t.done, t.dumpHead = len(t.text), len(t.text), "" }

// end notes that what follows belongs to no file.
func (t *Tail) end() { t.done, t.dumpHead = len(t.text), "" }

// dumpWords are what runtimes print before the stacks of all goroutines or threads.
var dumpWords = [...][]byte{
	[]byte("panic: "), []byte("fatal error: "), []byte(" panicked at "),
	[]byte("terminate called "),
}

func (t *Tail) add(b []byte) {
	for _, word := range dumpWords {
		if !bytes.Contains(b, word) { // nearly always; faster than a search from the end
			continue
		}
		i := bytes.LastIndex(b, word)
		text := b[bytes.LastIndexByte(b[:i], '\n')+1:]
		t.dumpHead = string(text[:min(len(text), 2*causeMax)])
	}
	if n := len(b) - tailMax; n > 0 {
		*t = Tail{text: t.text[:0], midLine: b[n-1] != '\n', dumpHead: t.dumpHead}
		b = b[n:]
	}
	if len(t.text)+len(b) > 2*tailMax {
		n := len(t.text) - (tailMax - len(b))
		t.midLine = t.text[n-1] != '\n'
		t.text = append(t.text[:0], t.text[n:]...)
		t.file, t.done = max(0, t.file-n), max(0, t.done-n)
	}
	t.text = append(t.text, b...)
}

// from returns the kept text from an offset on. It begins with a whole line if there is one.
func (t *Tail) from(at int) string {
	midLine := t.midLine && at == 0
	if n := len(t.text) - tailMax; n > at {
		at, midLine = n, t.text[n-1] != '\n'
	}
	text := string(t.text[at:])
	if _, rest, ok := strings.Cut(text, "\n"); midLine && ok && strings.TrimSpace(rest) != "" {
		return rest
	}
	return text
}

// splitLines returns the lines of a text that are not empty: checkpoints and file lines as records,
// which do not say why a process ended, and the others.
func splitLines(text string) (lines, records []string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = source.Shown(line)
		switch {
		case line == "":
		case strings.Contains(line, record.MemoryPrefix) ||
			strings.HasPrefix(line, record.ProtocolPrefix):
			records = append(records, line)
		default:
			lines = append(lines, line)
		}
	}
	return lines, records
}

// Lines returns the process's last lines, indented; its last records if it printed nothing else.
func (t *Tail) Lines() string {
	lines, records := splitLines(t.from(0))
	if len(lines) == 0 {
		lines = records
	}
	if len(lines) == 0 {
		return "  (it printed nothing)"
	}
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}

// Cause returns the line in which the process printed why it ended: since the present file began
// or, between files, since the last one ended. If no line is known to give a reason, fallback takes
// the last line; see [cause].
func (t *Tail) Cause(between, fallback bool) string {
	at := t.file
	if between {
		at = t.done
	}
	lines, _ := splitLines(t.from(at))
	if found := cause(lines, false); found != "" {
		return found
	}
	dump, _ := splitLines(t.dumpHead)
	if found := cause(dump, false); found != "" {
		return found
	}
	return cause(lines, fallback)
}
