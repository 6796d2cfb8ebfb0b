package harness

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"vramsoak/parser"
)

// LogName is the name of the log in the run folder.
const LogName = "soak.log"

// queueMax is how many bytes of the harness's lines wait for the end of a long line before samples are left out.
const queueMax = 1 << 20

// A journal writes soak.log: the pipeline's bytes as they are, the harness's lines between its lines. What it is given is
// written to the file by the next flush, in one write, so that a harness that is killed leaves what it had seen.
type journal struct {
	file *os.File
	out  []byte // to be written
	// open says that the last of the pipeline's bytes was no newline; queue then holds the harness's lines until it is.
	open  bool
	queue []byte
	// due says that something was added that the machine's end must not take back.
	due bool
	err error // the first write that failed; nothing is written after it
	// size is what the file had when it was last looked at, and what was written since; 0 before the first look.
	size int64
	// wall is what the clock on the wall shows at a moment, for the log; nil is the moment's own. No decision is taken by it: it
	// may jump.
	wall func(time.Time) time.Time
}

// head is the header of a line that tells of a moment.
func (j *journal) head(now time.Time) parser.Header {
	if j.wall != nil {
		now = j.wall(now)
	}
	return parser.Header{Time: now}
}

// A line is a record that has a line in the log.
type line interface {
	AppendLine(b []byte) []byte
}

func openJournal(path string) (*journal, error) {
	file, err := openLog(path)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// own adds a line of the harness.
func (j *journal) own(l line) {
	switch l.(type) {
	case parser.RunStart, parser.Resume, parser.FileEnd, parser.RunEnd:
		j.due = true
	}
	if j.open {
		j.queue = append(l.AppendLine(j.queue), '\n')
		return
	}
	j.out = append(l.AppendLine(j.out), '\n')
}

// sample adds a line of the harness that may be left out while the pipeline prints one line without end.
func (j *journal) sample(l line) {
	if len(j.queue) < queueMax {
		j.own(l)
	}
}

// pass adds the pipeline's bytes. A line that could be taken for one of the harness gets a
// [parser.QuoteLine] before it; both are written by the same flush.
func (j *journal) pass(b []byte) {
	if len(b) == 0 {
		return
	}
	j.appendQuoted(b)
	j.open = b[len(b)-1] != '\n'
	if !j.open {
		j.out = append(j.out, j.queue...)
		j.queue = j.queue[:0]
	}
}

// appendQuoted appends the pipeline's bytes with the quotes that they need. Inside a line that is written
// already nothing needs one: the harness's lines begin behind a newline.
func (j *journal) appendQuoted(b []byte) {
	for parser.MayBeOwn(b) {
		i := bytes.Index(b, []byte(parser.HarnessPrefix))
		begin := bytes.LastIndexByte(b[:i], '\n') + 1
		end := len(b)
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			end = i + n + 1
		}
		j.out = append(j.out, b[:begin]...)
		if begin > 0 || !j.open {
			j.out = append(j.out, parser.QuoteLine+"\n"...)
		}
		j.out = append(j.out, b[begin:end]...)
		b = b[end:]
		j.open = false // the rest of b begins a line
	}
	j.out = append(j.out, b...)
}

// endLine ends the pipeline's last line where it did not do so itself.
func (j *journal) endLine() {
	if j.open {
		j.pass([]byte{'\n'})
	}
}

// flush writes what was added since the last flush. With the end of a file it waits until the disk has it, so that not even
// the end of the machine takes more than the file that was worked on.
func (j *journal) flush() error {
	if j.err == nil && len(j.out) > 0 {
		n, err := j.file.Write(j.out)
		if j.size > 0 {
			j.size += int64(n)
		}
		if err == nil && j.due && len(j.queue) == 0 {
			j.due = false
			err = syncData(j.file)
		}
		if err != nil {
			j.err = fmt.Errorf("writing the log: %w; the run was ended, the log holds what came before; make room, then resume the run", err)
		}
	}
	j.out = j.out[:0]
	return j.err
}

// close flushes and closes the file.
func (j *journal) close() error {
	err := j.flush()
	if closing := j.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("closing the log: %w", closing)
	}
	return err
}
