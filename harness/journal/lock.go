package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrBusy is wrapped in the error of [Open] if another harness is writing the log.
var ErrBusy = errors.New("another vramsoak is at work on this run folder; " +
	"wait for it, or end it first")

// lockTime is how long Open waits for the lock of a log before it returns [ErrBusy].
const lockTime = 4 * time.Second

// openLog opens the log, creates it if it does not exist, and locks it if locked is set. The kernel
// releases the lock when the harness ends, even by SIGKILL. openLog also syncs the folder, so that
// a new log survives a power failure.
func openLog(path string, locked bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if locked && !lock(file) {
		_ = file.Close()
		return nil, fmt.Errorf("opening the log: %s: %w", path, ErrBusy)
	}
	dir := filepath.Dir(path)
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := SyncFolder(folder); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("opening the log: %w", err)
		}
	}
	return file, nil
}

// lock locks a file and reports whether it could. It tries for lockTime: a child that a killed
// harness had just started still holds the harness's lock until the child's program runs. If the
// file system has no locks, lock reports true.
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

// SyncFolder syncs a folder to the disk, so that the files that were created in it survive a power
// failure.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return nil // another user made the folder
	}
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return ignoreUnsupported(folder.Sync())
}

// syncData syncs the content and the length of a file to the disk.
func syncData(file *os.File) error {
	for {
		err := unix.Fdatasync(int(file.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return ignoreUnsupported(err)
		}
	}
}

// ignoreUnsupported returns err, or nil if err says that the device or the file system cannot sync.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}
