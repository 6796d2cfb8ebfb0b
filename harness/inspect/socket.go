package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is the folder of the sockets in a run folder, or in a worker's folder in it. A process
// makes the folder when it first listens.
const Folder = "processes"

const suffix = ".sock"

// ErrEnded is wrapped in the error of [Process.Ask] if the process was killed and left its socket.
var ErrEnded = errors.New("the process has ended")

// A Process is a process that listens, or that listened when it was killed.
type Process struct {
	Path string // of the socket
	PID  int    // as the process itself sees it: a container has PIDs of its own
}

// Find returns the processes that listen in a run folder, in the folders of its workers, or in the
// folder itself, by PID.
func Find(dir string) (found []Process, err error) {
	folders := []string{dir, filepath.Join(dir, Folder)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "gpu-") {
			folders = append(folders, filepath.Join(dir, e.Name(), Folder))
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, e := range entries {
			if pid, ok := pidOf(e); ok {
				found = append(found, Process{Path: filepath.Join(folder, e.Name()), PID: pid})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, nil
}

// pidOf returns the PID in the name of a socket: 4711.sock or, if a process of another container
// has the same PID, 4711-2.sock.
func pidOf(e fs.DirEntry) (pid int, ok bool) {
	name, ok := strings.CutSuffix(e.Name(), suffix)
	if !ok || e.Type() != fs.ModeSocket {
		return 0, false
	}
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	return pid, err == nil && pid > 0
}

// RemoveSockets removes the sockets that killed processes left in a run folder, and their folder.
// The harness calls it when no process of the run is left.
func RemoveSockets(dir string) {
	folder := filepath.Join(dir, Folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // no process has listened
	}
	for _, e := range entries {
		if _, ok := pidOf(e); ok {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	_ = os.Remove(folder) // fails if it has other files
}

// dial connects to a socket, and returns the PID of the process that listens there. The path of a
// socket has at most 107 bytes, but the path of the descriptor of its folder is short.
func dial(ctx context.Context, path string) (unixConn *net.UnixConn, pid int, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = dir.Close() }() // only read
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", short)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("%s: %w, and left its socket", path, ErrEnded)
	case err != nil:
		return nil, 0, fmt.Errorf("%s: connecting: %w", path, errors.Unwrap(err))
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, 0, errors.Join(fmt.Errorf("%s: expected a socket of this machine", path),
			conn.Close())
	}
	if pid, err = peer(unixConn); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s: %w", path, err), conn.Close())
	}
	return unixConn, pid, nil
}

// peer returns the PID of the process that listens at the other end, as this PID namespace has it.
// It returns an error if the process belongs to another user.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	switch own := os.Geteuid(); {
	case credErr != nil:
		return 0, credErr
	case own != 0 && int(cred.Uid) != own:
		return 0, fmt.Errorf("expected a process of this user (%d), found one of user %d", own,
			cred.Uid)
	}
	return int(cred.Pid), nil
}

// Patience is how long [Process.Ask] waits for an answer. A search in a process with millions of
// objects takes seconds, and a process answers only one client at a time.
const Patience = 30 * time.Second
