package harness

import (
	"strings"

	"vramsoak/parser"
)

const (
	tailMax     = 4 << 10 // bytes of a process's output that are kept for messages
	tailLines   = 10
	lastLineMax = 200 // bytes
)

// A tail is the end of what a process printed, for messages that say why it ended.
type tail struct {
	text []byte
}

func (t *tail) reset() { t.text = t.text[:0] }

func (t *tail) add(b []byte) {
	b = b[max(0, len(b)-tailMax):]
	if len(t.text)+len(b) > 2*tailMax {
		t.text = append(t.text[:0], t.text[len(t.text)-(tailMax-len(b)):]...)
	}
	t.text = append(t.text, b...)
}

// split is the last lines with something in them, oldest first: without checkpoints and file lines, which say nothing on
// why a process ended, where there are others. Of a progress bar that draws over itself with '\r', the last state is the
// line.
func (t *tail) split() []string {
	var lines, records []string
	for line := range strings.SplitSeq(string(t.text[max(0, len(t.text)-tailMax):]), "\n") {
		line = strings.TrimRight(line, " \t\r")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		switch {
		case line == "":
		case strings.Contains(line, parser.MemoryPrefix) || strings.HasPrefix(line, parser.ProtocolPrefix):
			records = append(records, strings.ToValidUTF8(line, "\uFFFD"))
		default:
			lines = append(lines, strings.ToValidUTF8(line, "\uFFFD"))
		}
	}
	if len(lines) == 0 {
		lines = records
	}
	return lines[max(0, len(lines)-tailLines):]
}

// lines are the last lines, indented.
func (t *tail) lines() string {
	lines := t.split()
	if len(lines) == 0 {
		return "  (it printed nothing)"
	}
	return "  " + strings.Join(lines, "\n  ")
}

// last is the last line, shortened.
func (t *tail) last() string {
	lines := t.split()
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	if len(line) > lastLineMax {
		line = strings.ToValidUTF8(line[:lastLineMax], "") + "..."
	}
	return line
}
