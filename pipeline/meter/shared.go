package meter

import (
	"bufio"
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sharedMemory is the folder whose files are memory that processes share: POSIX shared memory
// (shm_open), and with it the tensors that the workers of a PyTorch DataLoader return.
const sharedMemory = "/dev/shm"

// A Shared watches the files in /dev/shm for one run. Three rules decide which files are the
// run's:
//
//   - A file that existed before the run is not the run's.
//   - A file that was seen open or mapped in a process of the run is the run's, also after that
//     process has ended.
//   - Of the others, those of this user that were never seen open or mapped in a process outside of
//     the run may be the run's. A program that writes a file and closes it at once may not be seen
//     with it. They do not count in [Shared.Held]; [Shared.Left] lists them, not as seen.
//
// Several goroutines may use it at once.
type Shared struct {
	dir    string
	device uint64 // of dir
	memfds uint64 // the device of files without a name (memfd_create), or that of dir

	mu     sync.Mutex
	before map[fileID]bool // files that existed before the run
	ours   map[fileID]bool // true if a process of the run was seen with the file
	others map[fileID]bool // of programs outside of the run
}

// OpenShared notes which files are in /dev/shm now. It returns nil if there is no such folder.
func OpenShared() *Shared { return openShared(sharedMemory) }

func openShared(dir string) *Shared {
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) != nil {
		return nil
	}
	s := &Shared{
		dir: dir, device: stat.Dev, memfds: stat.Dev, before: map[fileID]bool{}, ours: map[fileID]bool{},
		others: map[fileID]bool{},
	}
	if fd, err := unix.MemfdCreate("vramsoak", unix.MFD_CLOEXEC); err == nil {
		if unix.Fstat(fd, &stat) == nil {
			s.memfds = stat.Dev
		}
		_ = unix.Close(fd)
	}
	for _, f := range s.files() {
		s.before[f.id] = true
	}
	return s
}

// Since tells that the run began earlier, before a resume. Files that were created since then are
// not from before the run.
func (s *Shared) Since(start time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files() {
		var stat unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, f.path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &stat) == nil &&
			stat.Mask&unix.STATX_BTIME != 0 &&
			!time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec)).Before(start) {
			delete(s.before, f.id)
		}
	}
}

// A fileID identifies a file, also without a name.
type fileID struct{ device, inode uint64 }

// A sharedFile is a file in /dev/shm.
type sharedFile struct {
	path  string
	id    fileID
	bytes int64 // of memory
	own   bool  // it belongs to this user
}

// files returns the files in the folder and the folders in it.
func (s *Shared) files() (all []sharedFile) {
	_ = filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		var stat unix.Stat_t // a folder that cannot be read belongs to others
		if err == nil && !entry.IsDir() && unix.Lstat(path, &stat) == nil && stat.Dev == s.device {
			all = append(all, sharedFile{
				path, fileID{stat.Dev, stat.Ino}, stat.Blocks * 512, int(stat.Uid) == os.Geteuid(),
			})
		}
		return nil
	})
	return all
}

// Held returns how many bytes of /dev/shm the processes with these PIDs hold, and what earlier
// processes of the run left there. A file without a name counts too, as long as a process has it
// open or mapped: PyTorch removes the names of its files at once, and a memfd never had one.
func (s *Shared) Held(pids []int) (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := map[fileID]int64{}
	for _, pid := range pids {
		s.holds(pid, held)
	}
	for id := range held {
		if !s.before[id] {
			s.ours[id] = true
		}
	}
	for _, f := range s.files() {
		if s.isOurs(f, pids) && s.ours[f.id] {
			held[f.id] = f.bytes // more exact than the length of a mapping
		} else {
			delete(held, f.id)
		}
	}
	for _, n := range held {
		bytes += n
	}
	return bytes
}

// isOurs reports whether a file is or may be the run's, and remembers it. The parameter pids
// holds the processes of the run.
func (s *Shared) isOurs(f sharedFile, pids []int) bool {
	_, ours := s.ours[f.id]
	switch {
	case ours:
		return true
	case s.before[f.id] || s.others[f.id] || !f.own:
		return false
	case s.heldOutside(f.id, pids):
		s.others[f.id] = true
		return false
	}
	s.ours[f.id] = false
	return true
}

// heldOutside reports whether a process outside of the run has the file open or mapped.
func (s *Shared) heldOutside(id fileID, pids []int) bool {
	entries, _ := os.ReadDir(procFolder)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || slices.Contains(pids, pid) {
			continue
		}
		held := map[fileID]int64{}
		if s.holds(pid, held); held[id] > 0 {
			return true
		}
	}
	return false
}

// A SharedFile is a file in /dev/shm and the memory that it holds, in bytes. Seen is set if a
// process of the run was seen with it.
type SharedFile struct {
	Path  string
	Bytes int64
	Seen  bool
}

// Left returns the files that the run has left behind, the largest first. Call it when the last
// process of the run has ended.
func (s *Shared) Left() (left []SharedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files() {
		if s.isOurs(f, nil) && !s.heldOutside(f.id, nil) {
			left = append(left, SharedFile{f.path, f.bytes, s.ours[f.id]})
		}
	}
	slices.SortStableFunc(left, func(a, b SharedFile) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return left
}

// mappedMin is the shared memory that a process must have touched for its mappings to be read.
// The semaphores of Python's multiprocessing take a page each.
const mappedMin = 64 << 10

// holds adds the files in the folder that a process has open or mapped to held, with their bytes.
// For a file that is only mapped and has no name, the bytes are the length of the mapping.
func (s *Shared) holds(pid int, held map[fileID]int64) {
	for stat := range openBy(pid) {
		if stat.Mode&unix.S_IFMT == unix.S_IFREG && (stat.Dev == s.device || stat.Dev == s.memfds) {
			held[fileID{stat.Dev, stat.Ino}] = max(1, stat.Blocks*512)
		}
	}
	text, err := os.ReadFile(procFile(pid, "status"))
	if err == nil && parseStatus(text).shared < mappedMin {
		return // to read the mappings takes most of the time
	}
	maps, err := os.Open(procFile(pid, "maps"))
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	lengths := map[fileID]int64{}
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if inode, length, ok := s.mapping(lines.Text()); ok {
			lengths[fileID{s.device, inode}] += length
		}
	}
	for id, length := range lengths {
		if held[id] == 0 {
			held[id] = length
		}
	}
}

// openBy ranges over the files that a process has open.
func openBy(pid int) iter.Seq[unix.Stat_t] {
	return func(yield func(unix.Stat_t) bool) {
		dir := procFile(pid, "fd")
		entries, _ := os.ReadDir(dir) // it has ended, or belongs to another user
		for _, entry := range entries {
			var stat unix.Stat_t
			if unix.Stat(filepath.Join(dir, entry.Name()), &stat) == nil && !yield(stat) {
				return
			}
		}
	}
}

// mapping reads a line of /proc/PID/maps, and reports whether it maps a file in the folder:
//
//	7f169a000000-7f169e000000 rw-s 00000000 00:1a 2053    /dev/shm/psm_5f2c (deleted)
func (s *Shared) mapping(line string) (inode uint64, length int64, ok bool) {
	if !strings.Contains(line, s.dir) {
		return 0, 0, false
	}
	var from, to uint64
	var mode, offset, device, name string
	_, err := fmt.Sscanf(line, "%x-%x %s %s %s %d %s", &from, &to, &mode, &offset, &device, &inode,
		&name)
	return inode, int64(to - from), err == nil && strings.HasPrefix(name, s.dir+"/")
}
