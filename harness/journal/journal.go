package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"vramsoak/parser/record"
)

// pendingMax limits the harness's lines that wait while the pipeline prints a long line, in bytes.
// When that many bytes wait, AddReading drops readings.
const pendingMax = 1 << 20

// A Journal writes soak.log: the pipeline's output byte for byte and, between the pipeline's lines,
// the lines of the harness. If the harness is killed, the log has everything up to the last
// [Journal.Flush].
type Journal struct {
	file *os.File
	out  []byte // not written yet
	// open is true while the pipeline's last line has no newline yet. Lines of the harness wait in
	// pending until the pipeline's line ends.
	open    bool
	pending []byte
	// due is true if the next flush must sync the log to the disk, because a line such as file-end was
	// added: a power failure must not undo that line.
	due bool
	err error // the first write that failed; nothing is written after it
	// size is the size that the file must have at least, in bytes: its size at the last
	// [Journal.Check] plus the bytes that were written since. It is 0 before the first check.
	size  int64
	moved error     // why the log is not at its path any more, or is shorter than before
	lost  bool      // another task has taken over the log
	gone  time.Time // since when the log is missing at its path; zero if it is not
	opts  Options
}

// Options are the settings of a [Journal].
type Options struct {
	// Wall returns the clock time that the log shows for a point in time; nil means that time itself.
	Wall func(time.Time) time.Time
	// Owned returns an error when another task has taken over the log. [Journal.Check] then returns
	// that error. A log with an owner is not locked. Owned is nil for a log that nobody can take over.
	Owned func() error
	// OnDisk is called after each flush that returns only when the log is on the disk, with the size
	// of the log in bytes. Its error ends the run. It may be nil.
	OnDisk func(size int64) error
}

// Open opens the log at a path, and creates it if it does not exist. It locks the log, unless the
// log has an owner. If another task has taken over the log, Open returns the error of Owned: the
// file at the path may then be the log of that task.
func Open(path string, opts Options) (*Journal, error) {
	file, err := openLog(path, opts.Owned == nil)
	if err != nil {
		return nil, err
	}
	// A task that takes over later renames the file that is open now.
	if opts.Owned != nil {
		if err := opts.Owned(); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return &Journal{file: file, opts: opts}, nil
}

// Path returns the path of the log.
func (j *Journal) Path() string { return j.file.Name() }

// Head returns the header of a log line that is written at the time now.
func (j *Journal) Head(now time.Time) record.Header {
	if j.opts.Wall != nil {
		now = j.opts.Wall(now)
	}
	return record.Header{Time: now}
}

// A Line is a record that the harness can write as a line of the log.
type Line interface {
	AppendLine(b []byte) []byte
}

// Add adds a line of the harness. If the pipeline's last line is not complete yet, the line of the
// harness waits for its end.
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

// AddReading adds a line with a reading of the pipeline's processes. It drops the line if lines of
// pendingMax bytes already wait for the end of a long line of the pipeline.
func (j *Journal) AddReading(l Line) {
	if len(j.pending) < pendingMax {
		j.Add(l)
	}
}

// Pass adds output of the pipeline. Before a line that looks like a line of the harness, Pass adds
// a [record.QuoteLine]; the same flush writes both lines.
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

// appendQuoted appends output of the pipeline, with a quote line before each line that needs one.
// If b continues a line whose beginning was already added, that line needs no quote line, because
// readers look for the harness's prefix only at the beginning of a line.
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
		j.open = false // b now begins with a new line
	}
	j.out = append(j.out, b...)
}

// EndLine adds a newline if the pipeline's last line has none.
func (j *Journal) EndLine() {
	if j.open {
		j.Pass([]byte{'\n'})
	}
}

// Flush writes everything that was added since the last flush. If a file-end line or the first or
// last line of a run is among it, Flush returns only when the log is on the disk.
func (j *Journal) Flush() error {
	if j.err == nil && len(j.out) > 0 {
		n, err := j.file.Write(j.out)
		if j.size > 0 {
			j.size += int64(n)
		}
		synced := err == nil && j.due && len(j.pending) == 0
		if synced {
			j.due = false
			err = syncData(j.file)
		}
		switch {
		case err != nil:
			j.err = fmt.Errorf("writing the log: %w; the run was ended, "+
				"the log holds what came before; make room, then resume the run", err)
		case synced && j.opts.OnDisk != nil:
			j.err = j.onDisk()
		}
	}
	j.out = j.out[:0]
	return j.err
}

// onDisk calls OnDisk with the size of the log.
func (j *Journal) onDisk() error {
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("reading the size of the log: %w", err)
	}
	return j.opts.OnDisk(info.Size())
}

// Close flushes and closes the log.
func (j *Journal) Close() error {
	err := j.Flush()
	if closing := j.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("closing the log: %w", closing)
	}
	return err
}
