package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// errEnded is in the error of a run whose log was taken away during the run.
var errEnded = errors.New("the run was ended")

// Check returns an error if the log is no longer the file at its path, or has become shorter.
// Nobody would find what is written to it from then on. The first error stays.
func (j *Journal) Check() error {
	if j.moved == nil {
		j.moved = j.check()
	}
	return j.moved
}

// Moved returns the error that [Journal.Check] found, if it found one.
func (j *Journal) Moved() error { return j.moved }

func (j *Journal) check() error {
	info, err := j.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // a device does not move
	}
	found, err := os.Stat(j.Path())
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("the log %s was removed while the run went on; %w", j.Path(), errEnded)
	case err != nil:
		return nil // a file system that does not answer just now still has the file
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

// A RescueFolder is where the logs of a run are saved if they are removed during the run. It is
// created when the first log is saved.
type RescueFolder struct {
	want string
	mu   sync.Mutex
	dir  string // "" until it is created
}

// NewRescueFolder returns the rescue folder at a path. If it cannot be created there, it will be
// among the system's temporary files.
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

// Rescue saves a log that was removed or replaced: its bytes exist as long as it is open. The log
// goes to a subfolder of the rescue folder, or into it if sub is "". It reports whether the log was
// saved, and returns an error that says what happened and what to do.
func (j *Journal) Rescue(f *RescueFolder, sub string) (saved bool, err error) {
	if j.Check() == nil {
		return false, nil
	}
	if found, err := os.Stat(j.Path()); err == nil {
		if own, err := j.file.Stat(); err == nil && os.SameFile(own, found) {
			return false, j.moved // it was cut; the rest is where it was
		}
	}
	to, err := f.save(j.file, sub)
	if err != nil {
		return false, fmt.Errorf("%w, and the log could not be saved: %w", j.moved, err)
	}
	return true, fmt.Errorf("%w, and its log saved in %s; "+
		"leave a run folder alone until its run is over, and run again", j.moved, to)
}

// CopyTo copies the log to a subfolder of the rescue folder, so that the logs of all workers of a
// run are together.
func (j *Journal) CopyTo(f *RescueFolder, sub string) error {
	log, err := os.Open(j.Path())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = f.save(log, sub)
	return err
}

// save copies a log, also one that has no name any more, and returns the folder that it is in.
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
