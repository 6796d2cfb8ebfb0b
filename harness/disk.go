package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// errBusy says that another harness writes the log.
var errBusy = errors.New("another vramsoak is at work on this run folder; wait for it, or end it first")

// lockTime is how long the lock of a log is waited for.
const lockTime = 4 * time.Second

// openLog opens the log of a run folder for this harness alone: the lock goes with the harness, however it ends. That there
// is such a file outlives the machine from here on.
func openLog(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if !lock(file) {
		_ = file.Close()
		return nil, fmt.Errorf("opening the log: %s: %w", path, errBusy)
	}
	dir := filepath.Dir(path)
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := syncFolder(folder); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("opening the log: %w", err)
		}
	}
	return file, nil
}

// lock takes the lock of a file, which a process that was just killed may have left to a child: one that it had forked and
// that has not begun its program yet. A file system without locks has none to take.
func lock(file *os.File) bool {
	for end := time.Now().Add(lockTime); ; time.Sleep(lockTime / 200) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// syncFolder makes sure that the names in a folder are on the disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return nil // of a folder that others made
	}
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return syncable(folder.Sync())
}

// syncData makes sure that what was written to a file, and its length, are on the disk.
func syncData(file *os.File) error {
	for {
		err := unix.Fdatasync(int(file.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return syncable(err)
		}
	}
}

// syncable passes over that a device or a file system has nothing to sync.
func syncable(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}
