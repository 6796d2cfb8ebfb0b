package harness

import (
	"fmt"
	"os"
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
	err   error // the first write that failed; nothing is written after it
}

// A line is a record that has a line in the log.
type line interface {
	AppendLine(b []byte) []byte
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return &journal{file: file}, nil
}

// own adds a line of the harness.
func (j *journal) own(l line) {
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

// pass adds the pipeline's bytes.
func (j *journal) pass(b []byte) {
	if len(b) == 0 {
		return
	}
	j.out = append(j.out, b...)
	j.open = b[len(b)-1] != '\n'
	if !j.open {
		j.out = append(j.out, j.queue...)
		j.queue = j.queue[:0]
	}
}

// endLine ends the pipeline's last line where it did not do so itself.
func (j *journal) endLine() {
	if j.open {
		j.pass([]byte{'\n'})
	}
}

// flush writes what was added since the last flush.
func (j *journal) flush() error {
	if j.err == nil && len(j.out) > 0 {
		if _, err := j.file.Write(j.out); err != nil {
			j.err = fmt.Errorf("writing the log: %w; the run was ended, the log holds what came before; make room and run again", err)
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
