package journal

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"vramsoak/parser/record"
)

// pendingMax is how many bytes of the harness's lines wait for the end of a long line. Samples
// beyond that are left out.
const pendingMax = 1 << 20

// A Journal writes soak.log: the pipeline's bytes as they are, and the harness's lines between its
// lines. Flush writes what was added since the last flush, in one write. If the harness is killed,
// the log has everything up to the last flush.
type Journal struct {
	file *os.File
	out  []byte // to be written
	// open says that the pipeline's last byte was no newline. The harness's lines are pending until
	// that line ends.
	open    bool
	pending []byte
	// due says that a line was added that a power failure must not take back.
	due bool
	err error // the first write that failed; nothing is written after it
	// size is the file's size at the last check, with what was written since; 0 before the first
	// check.
	size  int64
	moved error // the log is no longer at its path
	wall  func(time.Time) time.Time
}

// Open opens the log at a path for this harness alone. wall returns the clock time of a moment, for
// the log; nil is the moment's own.
func Open(path string, wall func(time.Time) time.Time) (*Journal, error) {
	file, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	return &Journal{file: file, wall: wall}, nil
}

// Path returns where the log is.
func (j *Journal) Path() string { return j.file.Name() }

// Head returns the header of a line about a moment.
func (j *Journal) Head(now time.Time) record.Header {
	if j.wall != nil {
		now = j.wall(now)
	}
	return record.Header{Time: now}
}

// A Line is a record that has a line in the log.
type Line interface {
	AppendLine(b []byte) []byte
}

// Add adds a line of the harness.
func (j *Journal) Add(l Line) {
	switch l.(type) {
	case record.RunStart, record.Resume, record.FileEnd, record.RunEnd:
		j.due = true
	}
	if j.open {
		j.pending = append(l.AppendLine(j.pending), '\n')
		return
	}
	j.out = append(l.AppendLine(j.out), '\n')
}

// AddSample adds a line of the harness. It may drop the line while the pipeline is printing one
// line without end.
func (j *Journal) AddSample(s record.Sample) {
	if len(j.pending) < pendingMax {
		j.Add(s)
	}
}

// Pass adds the pipeline's bytes. A line that could be taken for one of the harness gets a
// [record.QuoteLine] before it; both are written by the same flush.
func (j *Journal) Pass(b []byte) {
	if len(b) == 0 {
		return
	}
	j.appendQuoted(b)
	j.open = b[len(b)-1] != '\n'
	if !j.open {
		j.out = append(j.out, j.pending...)
		j.pending = j.pending[:0]
	}
}

// appendQuoted appends the pipeline's bytes with the quote lines that they need. The rest of a line
// whose beginning is written already needs none: the harness's lines begin after a newline.
func (j *Journal) appendQuoted(b []byte) {
	for record.NeedsQuote(b) {
		i := bytes.Index(b, []byte(record.HarnessPrefix))
		begin := bytes.LastIndexByte(b[:i], '\n') + 1
		end := len(b)
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			end = i + n + 1
		}
		j.out = append(j.out, b[:begin]...)
		if begin > 0 || !j.open {
			j.out = append(j.out, quoteLine...)
		}
		j.out = append(j.out, b[begin:end]...)
		b = b[end:]
		j.open = false // the rest of b begins a line
	}
	j.out = append(j.out, b...)
}

// EndLine ends the pipeline's last line if the pipeline did not.
func (j *Journal) EndLine() {
	if j.open {
		j.Pass([]byte{'\n'})
	}
}

// Flush writes what was added since the last flush. If that includes the end of a file, Flush
// returns when it is on the disk.
func (j *Journal) Flush() error {
	if j.err == nil && len(j.out) > 0 {
		n, err := j.file.Write(j.out)
		if j.size > 0 {
			j.size += int64(n)
		}
		if err == nil && j.due && len(j.pending) == 0 {
			j.due = false
			err = syncData(j.file)
		}
		if err != nil {
			j.err = fmt.Errorf("writing the log: %w; the run was ended, "+
				"the log holds what came before; make room, then resume the run", err)
		}
	}
	j.out = j.out[:0]
	return j.err
}

// Close flushes and closes the log.
func (j *Journal) Close() error {
	err := j.Flush()
	if closing := j.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("closing the log: %w", closing)
	}
	return err
}
