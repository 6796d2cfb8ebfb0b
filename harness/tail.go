package harness

import (
	"bytes"
	"strings"

	"vramsoak/parser"
)

const (
	tailMax     = 4 << 10 // bytes of a process's output that are kept for messages
	tailLines   = 20      // so that an error of several lines has its first
	lastLineMax = 200     // bytes
)

// A tail is the end of what a process printed, for messages that say why it ended.
type tail struct {
	text []byte
	torn bool   // it begins in mid-line
	file int    // where in the text the present file began
	done int    // where in the text the last file ended
	dump string // the first line of a dump since then, which may be longer than the text that is kept
}

func (t *tail) reset() { *t = tail{text: t.text[:0]} }

// begin notes that a file begins with what follows.
func (t *tail) begin() { t.file, t.done, t.dump = len(t.text), len(t.text), "" }

// end notes that the following text no longer belongs to a file.
func (t *tail) end() { t.done, t.dump = len(t.text), "" }

// dumps are the words that runtimes print before the stacks of all goroutines or threads.
var dumps = [...][]byte{[]byte("panic: "), []byte("fatal error: "), []byte(" panicked at "), []byte("terminate called ")}

func (t *tail) add(b []byte) {
	for _, word := range dumps {
		if !bytes.Contains(b, word) { // as nearly always, and quicker than to look from the end
			continue
		}
		i := bytes.LastIndex(b, word)
		text := b[bytes.LastIndexByte(b[:i], '\n')+1:]
		t.dump = string(text[:min(len(text), 2*lastLineMax)])
	}
	if n := len(b) - tailMax; n > 0 {
		*t = tail{text: t.text[:0], torn: b[n-1] != '\n', dump: t.dump}
		b = b[n:]
	}
	if len(t.text)+len(b) > 2*tailMax {
		n := len(t.text) - (tailMax - len(b))
		t.torn = t.text[n-1] != '\n'
		t.text, t.file, t.done = append(t.text[:0], t.text[n:]...), max(0, t.file-n), max(0, t.done-n)
	}
	t.text = append(t.text, b...)
}

// window is what is kept of the text from a place on, from a line's beginning where that is possible: the end of a checkpoint
// is no word on why a process ended.
func (t *tail) window(from int) string {
	torn := t.torn && from == 0
	if n := len(t.text) - tailMax; n > from {
		from, torn = n, t.text[n-1] != '\n'
	}
	text := string(t.text[from:])
	if _, rest, ok := strings.Cut(text, "\n"); torn && ok && strings.TrimSpace(rest) != "" {
		return rest
	}
	return text
}

// split cuts a text into lines with something in them: checkpoints and file lines, which say nothing on why a process ended,
// and others. Of a progress bar that draws over itself with '\r', the last state is the line.
func split(text string) (lines, records []string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		line = parser.Plain(line)
		switch {
		case line == "":
		case strings.Contains(line, parser.MemoryPrefix) || strings.HasPrefix(line, parser.ProtocolPrefix):
			records = append(records, strings.ToValidUTF8(line, "\uFFFD"))
		default:
			lines = append(lines, strings.ToValidUTF8(line, "\uFFFD"))
		}
	}
	return lines, records
}

// lines are the process's last lines, indented; records where there are no others.
func (t *tail) lines() string {
	lines, records := split(t.window(0))
	if len(lines) == 0 {
		lines = records
	}
	if len(lines) == 0 {
		return "  (it printed nothing)"
	}
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}

// cause returns why the process ended, by what it printed since the present file began, or else since the last one ended; see
// the function cause.
func (t *tail) cause(between, fallback bool) string {
	from := t.file
	if between {
		from = t.done
	}
	lines, _ := split(t.window(from))
	if word := cause(lines, false); word != "" {
		return word
	}
	dump, _ := split(t.dump)
	if word := cause(dump, false); word != "" {
		return word
	}
	return cause(lines, fallback)
}
