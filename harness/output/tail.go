package output

import (
	"bytes"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

const (
	tailMax   = 4 << 10 // bytes kept of a process's output, for messages
	tailLines = 20      // lines in a message
	causeMax  = 200     // bytes of the line that says why a process ended
)

// A Tail keeps the last output of a process, for messages that say why the process ended.
type Tail struct {
	text     []byte
	midLine  bool   // text begins in the middle of a line
	file     int    // offset in text at which the output of the current file begins
	done     int    // offset in text of the output after the last file's end
	dumpHead string // first lines of a stack dump, which may be longer than text
}

func (t *Tail) reset() { *t = Tail{text: t.text[:0]} }

// begin notes that a file begins: the output from now on belongs to that file.
func (t *Tail) begin() { t.file, t.done, t.dumpHead = len(t.text), len(t.text), "" }

// end notes that the current file has ended: the output from now on belongs to no file.
func (t *Tail) end() { t.done, t.dumpHead = len(t.text), "" }

// dumpWords lists the words with which runtimes begin a dump of all goroutines or threads. The dump
// may be longer than the tail, so add keeps its beginning in dumpHead.
var dumpWords = [...][]byte{
	[]byte("panic: "), []byte("fatal error: "), []byte(" panicked at "),
	[]byte("terminate called "),
}

func (t *Tail) add(b []byte) {
	for _, word := range dumpWords {
		if !bytes.Contains(b, word) { // Contains is faster than LastIndex
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

// from returns the kept text from the offset at on. If the text begins in the middle of a line,
// from leaves that line out, unless the text has no other line.
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

// splitLines splits the non-empty lines of a text into two lists: records holds checkpoints and
// file lines, which do not say why a process ended, and lines holds the others.
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

// Lines returns the last lines that the process printed, indented. It leaves out checkpoints and
// file-start and file-end lines, unless the process printed nothing else.
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

// Cause returns the line in which the process printed why it ended. It searches the output since
// the current file began or, if between is set because the process ended between two files, the
// output since the last file ended. If no line has a known form and fallback is set, Cause returns
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
