package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// RescuedSuffix is what the run folder's name gets for the folder that a log is saved to which was removed.
const RescuedSuffix = ".rescued"

// errEvidence is in the error of a run whose log was taken away while it went on.
var errEvidence = errors.New("the run was ended")

// astray says that the log is no longer the file that its path leads to, or that it has become shorter. What is written to
// it then, nobody finds: to go on would be a night for nothing.
func (j *journal) astray() error {
	info, err := j.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // a device is where it is
	}
	found, err := os.Stat(j.file.Name())
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("the log %s was removed while the run went on; %w", j.file.Name(), errEvidence)
	case err != nil:
		return nil // a file system that does not answer just now still has the file
	case !os.SameFile(info, found):
		return fmt.Errorf("the log %s was replaced by another file while the run went on; %w", j.file.Name(), errEvidence)
	case info.Size() < j.size:
		return fmt.Errorf("the log %s was cut from %d to %d bytes while the run went on; %w; keep other programs from it and run again",
			j.file.Name(), j.size, info.Size(), errEvidence)
	}
	j.size = info.Size()
	return nil
}

// watch looks whether the log is still there. It is noted once.
func (r *run) watch() error {
	if r.astray == nil {
		r.astray = r.log.astray()
	}
	return r.astray
}

// A shelter is the folder for the logs of a run that were taken away, made for the first of them: beside the run folder or,
// where that cannot be, among the system's temporary files.
type shelter struct {
	run string // its folder
	mu  sync.Mutex
	dir string // "" until it is made
}

func (s *shelter) folder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	dir := filepath.Clean(s.run) + RescuedSuffix
	if err := os.Mkdir(dir, 0o755); err != nil {
		if dir, err = os.MkdirTemp("", "vramsoak-"); err != nil {
			return "", err
		}
	}
	s.dir = dir
	return dir, nil
}

// place is the folder for a log in the shelter: a worker's is in one of its own, as in the run folder.
func (r *run) place(dir string) (string, error) {
	if r.cfg.gpu == nil {
		return dir, nil
	}
	dir = WorkerDir(dir, *r.cfg.gpu)
	return dir, os.Mkdir(dir, 0o755)
}

// rescue saves a log that was removed or replaced, which is there as long as it is open. It returns the run's shelter, and what
// to do.
func (r *run) rescue() (dir string, err error) {
	if r.watch() == nil {
		return "", nil
	}
	if found, err := os.Stat(r.log.file.Name()); err == nil {
		if own, err := r.log.file.Stat(); err == nil && os.SameFile(own, found) {
			return "", r.astray // it was cut: what there is is in its place
		}
	}
	dir, err = r.shelter.folder()
	place := dir
	if err == nil {
		place, err = r.place(dir)
	}
	if err == nil {
		err = saveLog(filepath.Join(place, LogName), r.log.file)
	}
	if err != nil {
		return "", fmt.Errorf("%w, and the log could not be saved: %w", r.astray, err)
	}
	return dir, fmt.Errorf("%w, and its log saved in %s; leave a run folder alone until its run is over, and run again", r.astray, place)
}

// follow puts a copy of a log that is in its place beside those of the run's other workers that were saved, so that what is
// saved is the whole run's.
func (r *run) follow(dir string) error {
	log, err := os.Open(r.log.file.Name())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	place, err := r.place(dir)
	if err != nil {
		return err
	}
	return saveLog(filepath.Join(place, LogName), log)
}

// saveLog copies a log, also one that has no name any more.
func saveLog(path string, log *os.File) error {
	info, err := log.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(log, 0, info.Size()))
	return errors.Join(err, to.Close())
}
