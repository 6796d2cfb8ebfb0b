package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errEnded is wrapped in the errors of [Journal.Check].
var errEnded = errors.New("the run was ended")

// Check returns an error if another task has taken over the log, or if somebody removed or replaced
// it, or made it shorter, because the log would then lack what the harness writes. After the first
// error, Check always returns that error.
func (j *Journal) Check() error {
	if j.moved == nil {
		j.moved = j.check()
	}
	return j.moved
}

// Moved returns the first error of [Journal.Check], or nil.
func (j *Journal) Moved() error { return j.moved }

func (j *Journal) check() error {
	if j.opts.Owned != nil {
		if err := j.opts.Owned(); err != nil {
			j.lost = true
			return err
		}
	}
	info, err := j.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // a device such as /dev/null cannot be moved
	}
	found, err := os.Stat(j.Path())
	if err == nil {
		j.gone = time.Time{}
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && j.mayComeBack():
		return nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("the log %s was removed while the run went on; %w", j.Path(), errEnded)
	case err != nil:
		return nil // the file system fails for now; the file is still there
	case !os.SameFile(info, found):
		return fmt.Errorf("the log %s was replaced by another file while the run went on; %w",
			j.Path(), errEnded)
	case info.Size() < j.size:
		return fmt.Errorf("the log %s was cut from %d to %d bytes while the run went on; %w; "+
			"keep other programs from it and run again", j.Path(), j.size, info.Size(), errEnded)
	}
	j.size = info.Size()
	return nil
}

// comesBack is how long a log with an owner may be missing. A task whose lease has ended may be
// late and rename the log; when it notices, it renames it back.
const comesBack = 3 * time.Second

// mayComeBack reports whether a log that is missing may be back soon.
func (j *Journal) mayComeBack() bool {
	if j.opts.Owned == nil {
		return false
	}
	if j.gone.IsZero() {
		j.gone = time.Now()
	}
	return time.Since(j.gone) < comesBack
}

// A RescueFolder is the folder to which the harness saves the logs of a run that somebody removed
// during the run. The folder is created when the first log is saved.
type RescueFolder struct {
	want string
	mu   sync.Mutex
	dir  string // "" until it is created
}

// NewRescueFolder returns the rescue folder that will be created at path or, if that fails, in the
// system's folder for temporary files.
func NewRescueFolder(path string) *RescueFolder { return &RescueFolder{want: path} }

// Dir returns the folder if it was created, else "".
func (f *RescueFolder) Dir() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dir
}

func (f *RescueFolder) folder() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir != "" {
		return f.dir, nil
	}
	dir := f.want
	if err := os.Mkdir(dir, 0o755); err != nil {
		if dir, err = os.MkdirTemp("", "vramsoak-"); err != nil {
			return "", err
		}
	}
	f.dir = dir
	return dir, nil
}

// Rescue saves a log that somebody removed or replaced. It can still read the log, because the
// kernel keeps the content of an open file. Rescue copies the log to the subfolder sub of the
// rescue folder, or to the rescue folder itself if sub is "". It reports whether it saved the log,
// and returns an error that says what happened and what to do.
func (j *Journal) Rescue(f *RescueFolder, sub string) (saved bool, err error) {
	if j.Check() == nil {
		return false, nil
	}
	if j.lost {
		return false, j.moved // the task that took over has what counts
	}
	if found, err := os.Stat(j.Path()); err == nil {
		if own, err := j.file.Stat(); err == nil && os.SameFile(own, found) {
			return false, j.moved // the log was cut and is still at its path
		}
	}
	to, err := f.save(j.file, sub)
	if err != nil {
		return false, fmt.Errorf("%w, and the log could not be saved: %w", j.moved, err)
	}
	return true, fmt.Errorf("%w, and its log saved in %s; "+
		"leave a run folder alone until its run is over, and run again", j.moved, to)
}

// CopyTo copies the log to the subfolder sub of the rescue folder. It is for logs that nobody
// removed: if one worker's log was removed, the logs of all workers are in the rescue folder.
func (j *Journal) CopyTo(f *RescueFolder, sub string) error {
	log, err := os.Open(j.Path())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = f.save(log, sub)
	return err
}

// save copies an open log to the rescue folder, even if somebody removed the log, and returns the
// folder of the copy.
func (f *RescueFolder) save(log *os.File, sub string) (dir string, err error) {
	dir, err = f.folder()
	if err != nil {
		return "", err
	}
	if sub != "" {
		dir = filepath.Join(dir, sub)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
	}
	info, err := log.Stat()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(log.Name()))
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, io.NewSectionReader(log, 0, info.Size()))
	return dir, errors.Join(err, to.Close())
}
