package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// RSS returns the resident memory of a process in bytes, from /proc/PID/statm. If the process has
// ended, the error is fs.ErrNotExist or syscall.ESRCH. For a zombie process it returns 0.
func RSS(pid int) (int64, error) {
	path := procFile(pid, "statm")
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data)) // size resident shared ..., in pages
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: expected 7 numbers of pages, found %q", path, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: expected a number of resident pages, found %q", path, fields[1])
	}
	return pages * int64(os.Getpagesize()), nil
}

// Tree returns the PIDs of a process and its descendants, because the pipeline is often a child of
// another program (uv run, torchrun, a script). Tree does not find a process whose parent has
// ended.
func Tree(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		for _, child := range Children(pids[i]) {
			if !slices.Contains(pids, child) {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// Children returns the PIDs of a process's children, including zombies.
func Children(pid int) []int {
	var pids []int
	// The system lists children by the thread that started them, in one file for each thread. A
	// process may have hundreds of threads. So Children uses system calls, which cost less than the
	// functions of package os.
	task, err := os.Open(procFile(pid, "task"))
	if err != nil {
		return nil // the process has ended
	}
	threads, _ := task.Readdirnames(-1)
	var buf []byte
	for _, thread := range threads {
		fd, err := unix.Openat(int(task.Fd()), thread+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // the thread has ended
		}
		buf = readAll(fd, buf[:0])
		_ = unix.Close(fd)
		for field := range bytes.FieldsSeq(buf) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	_ = task.Close()
	return pids
}

// readAll appends the content of a file to buf. After an error it returns the part that it has
// read.
func readAll(fd int, buf []byte) []byte {
	for {
		buf = slices.Grow(buf, 512)
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return buf
		}
		buf = buf[:len(buf)+n]
	}
}
