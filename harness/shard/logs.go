package shard

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// An Earlier is the log of an earlier lease, which lies beside the log that counts. A later task
// has copied it up to a place that its resume line names (After). The rest does not count.
type Earlier struct {
	Path string
	record.Owner
}

const (
	earlierPrefix = "soak.lease-"
	logSuffix     = ".log"
)

// Adopt gives the owner of a lease a log of its own at path. It begins with a copy of the log that
// the lease before has left, if there is one. That log stays beside it under another name, because
// the task that writes it may still run. Adopt reports whether there was a log. Other tasks may do
// the same at the same time: all but the one with the highest lease get [ErrTakenOver].
func (l *Lease) Adopt(path string) (found bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	for {
		found, err = l.adopt(path)
		if taken := l.Check(); taken != nil {
			err = taken
		} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			continue // an earlier task renamed or created the log in the meantime
		}
		if err != nil {
			return false, fmt.Errorf("taking over the log of the lease before: %w", err)
		}
		return found, l.removeOlder(path)
	}
}

func (l *Lease) adopt(path string) (found bool, err error) {
	from, _, err := Logs(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return false, err
		}
		return false, f.Close()
	}
	if err != nil {
		return false, err
	}
	own := path + "." + LeaseName(l.Number) // only the task with this lease writes it
	if err := copyFile(own, from); err != nil {
		return false, err
	}
	if err := l.put(own, path); err != nil {
		_ = os.Remove(own) // the logs are as they were
		return false, err
	}
	return true, nil
}

// put gives the file from the name path. If a log has that name, put renames the log first. It
// returns an error and leaves the log where it is if a later task has put its own log there in the
// meantime. If an earlier task has created another log there, the error wraps [fs.ErrExist].
func (l *Lease) put(from, path string) error {
	end, err := endOf(path)
	gone := errors.Is(err, fs.ErrNotExist) // a task was killed after it had renamed the log
	if err != nil && !gone {
		return err
	}
	if err := l.Check(); err != nil { // reading the log takes time
		return err
	}
	if !gone {
		earlier := earlierPath(path, end.owner.Lease)
		if err := os.Rename(path, earlier); err != nil {
			return err
		}
		if taken := l.Check(); taken != nil { // it may be the log of the later task: put it back
			return errors.Join(taken, rename(earlier, path))
		}
	}
	return rename(from, path)
}

// rename renames a file. If there is a file with the new name, the error wraps [fs.ErrExist].
func rename(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist):
		return err
	}
	return os.Rename(from, to) // the file system has no hard links
}

// removeOlder removes the copies that tasks with earlier leases made and did not rename.
func (l *Lease) removeOlder(path string) error {
	for number := range l.Number {
		err := os.Remove(path + "." + LeaseName(number))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// earlierPath returns the path of the log of an earlier lease, beside the log at path. It is one
// that does not exist yet: a task may have ended before it changed the log.
func earlierPath(path string, lease int) string {
	base := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%06d", earlierPrefix, lease))
	name := base + logSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d%s", base, n, logSuffix)
	}
}

// copyFile copies a file and syncs the copy to the disk. Another task may be writing the file; the
// copy then ends anywhere, as after a kill.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	info, err := in.Stat()
	if err == nil {
		_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	}
	return errors.Join(err, out.Sync(), out.Close())
}

// Logs returns the log of a shard that counts, and the logs of earlier leases. The parameter path
// names the log, such as shard-0003/soak.log. It is the log that counts, unless a task was killed
// or interrupted while it took over: then the log of the highest lease counts. If the shard has no
// log, the error wraps [fs.ErrNotExist].
func Logs(path string) (log string, earlier []Earlier, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	var all []Earlier
	for _, e := range entries {
		if name := e.Name(); name == filepath.Base(path) || isEarlier(name) {
			all = append(all, Earlier{Path: filepath.Join(filepath.Dir(path), name)})
		}
	}
	if len(all) == 0 {
		return "", nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if len(all) == 1 {
		return all[0].Path, nil, nil
	}
	for i := range all {
		end, err := endOf(all[i].Path)
		if errors.Is(err, fs.ErrNotExist) {
			return Logs(path) // a task has renamed it in the meantime
		}
		if err != nil {
			return "", nil, err
		}
		all[i].Owner = end.owner
	}
	slices.SortStableFunc(all, func(a, b Earlier) int {
		return cmp.Or(cmp.Compare(a.Lease, b.Lease), compareBools(a.Path == path, b.Path == path))
	})
	last := len(all) - 1
	return all[last].Path, all[:last], nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func isEarlier(name string) bool {
	middle, ok := strings.CutPrefix(name, earlierPrefix)
	middle, ok2 := strings.CutSuffix(middle, logSuffix)
	digits, _, _ := strings.Cut(middle, "-")
	_, err := strconv.ParseUint(digits, 10, 32)
	return ok && ok2 && err == nil
}

// An end is what the last lines of the harness in a log say.
type end struct {
	owner  record.Owner
	reason string // of the run-end line; "" if the run has not ended
	at     time.Time
}

// endOf returns the end of a log.
func endOf(path string) (e end, err error) {
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer func() { _ = f.Close() }() // only read
	for rec, err := range parser.OwnLines().Read(f, path) {
		if err != nil {
			return e, err
		}
		switch rec := rec.(type) {
		case record.RunStart:
			e.owner = rec.Owner
		case record.Resume:
			e = end{owner: rec.Owner}
		case record.RunEnd:
			e.reason, e.at = rec.Reason, rec.Time
		}
	}
	return e, nil
}

// Ended returns how and when the run in a shard's log ended: the reason of its run-end line, or ""
// if it has not ended or if there is no log. The parameter path is that of [Logs].
func Ended(path string) (reason string, at time.Time, err error) {
	log, _, err := Logs(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	e, err := endOf(log)
	return e.reason, e.at, err
}
