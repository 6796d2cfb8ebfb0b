package meter

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Watch notes which files in /dev/shm the processes of the run create, until stop is closed. A
// program may write a file and close it at once, so that [Shared.Held] does not see the two
// together. Watch looks as soon as the kernel tells that a file was created. The function look is
// called for each file. It calls its argument with PIDs of the run, which reports whether one of
// them has the file open.
func (s *Shared) Watch(look func(by func(pids []int) bool), stop <-chan struct{}) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, s.dir, unix.IN_CREATE); err != nil {
		_ = events.Close()
		return err
	}
	go func() {
		<-stop
		_ = events.Close() // ends the loop below
	}()
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := events.Read(buffer)
			if err != nil {
				return
			}
			for _, name := range createdIn(buffer[:n]) {
				look(func(pids []int) bool { return s.created(filepath.Join(s.dir, name), pids) })
			}
		}
	}()
	return nil
}

// createdIn returns the names in the events of inotify(7). Each event has four numbers of 32 bits,
// of which the last is the length of the name that follows, with zeros at its end.
func createdIn(events []byte) (names []string) {
	for len(events) >= unix.SizeofInotifyEvent {
		length := int(binary.NativeEndian.Uint32(events[12:]))
		events = events[unix.SizeofInotifyEvent:]
		if length > len(events) {
			break
		}
		if name := strings.TrimRight(string(events[:length]), "\x00"); name != "" {
			names = append(names, name)
		}
		events = events[length:]
	}
	return names
}

// created notes a new file as the run's if one of the processes has it open, and reports whether it
// did.
func (s *Shared) created(path string, pids []int) bool {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return false
	}
	id := fileID{stat.Dev, stat.Ino}
	for _, pid := range pids {
		for open := range openBy(pid) {
			if id == (fileID{open.Dev, open.Ino}) {
				s.mu.Lock()
				s.ours[id] = true
				s.mu.Unlock()
				return true
			}
		}
	}
	return false
}
