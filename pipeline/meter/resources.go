package meter

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramsoak/parser/record"
)

// Resources returns what the processes with these PIDs hold of the machine together: memory, file
// descriptors and threads. Processes that have ended do not count. Resources reads only counters
// that the kernel keeps, so it takes some tens of microseconds for each process. The host memory
// is the sum over the processes, so a page that a forked process still shares with its parent
// counts twice; see [Holding].
func Resources(pids []int) (total record.Resources) {
	alive := int64(0)
	for _, pid := range pids {
		status, err := os.ReadFile(procFile(pid, "status"))
		if err != nil {
			continue // it has ended
		}
		alive++
		s := parseStatus(status)
		add(&total, record.Threads, s.threads, s.threads > 0)
		add(&total, record.HostMemory, s.host, s.hasHost)
		n, ok := openFiles(pid)
		add(&total, record.FileDescriptors, n, ok)
	}
	if alive > 0 {
		total.Set(record.Processes, alive)
	}
	return total
}

// Holding returns what the processes hold as [Resources] does, but pages that several of the
// processes share count once. The kernel adds up the pages for this. That takes a millisecond for
// each GiB that the processes hold, so Holding is for a few readings in a second. It also returns
// the largest number of files that one of the processes has open.
func Holding(pids []int) (r record.Resources, mostFiles int) {
	r = Resources(pids)
	host, exact := int64(0), true
	for _, pid := range pids {
		if n, ok := openFiles(pid); ok {
			mostFiles = max(mostFiles, int(n))
		}
		rollup, err := os.ReadFile(procFile(pid, "smaps_rollup"))
		if err != nil {
			// A process that has ended, or a zombie, holds nothing. The memory of a process of another
			// user cannot be read.
			exact = exact && !os.IsPermission(err)
			continue
		}
		share, ok := proportional(rollup)
		host, exact = host+share, exact && ok
	}
	if exact && host > 0 {
		r.Set(record.HostMemory, host)
	}
	return r, mostFiles
}

// procFile returns the path of a file of a process in /proc.
func procFile(pid int, name string) string {
	return filepath.Join(procFolder, strconv.Itoa(pid), name)
}

func add(to *record.Resources, kind record.Resource, n int64, ok bool) {
	if sum, _ := to.Get(kind); ok {
		to.Set(kind, sum+n)
	}
}

// A status holds the fields of /proc/PID/status that count.
type status struct {
	host    int64
	hasHost bool
	shared  int64 // shared memory that the process has touched; a part of host
	threads int64
}

// parseStatus reads the text of /proc/PID/status. The host memory is RssAnon + RssShmem + VmSwap;
// RssFile, the pages of files, does not count.
func parseStatus(text []byte) (s status) {
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		switch string(key) {
		case "RssAnon", "RssShmem", "VmSwap":
			if kib, ok := number(value); ok {
				s.host, s.hasHost = s.host+kib*record.KiB, true
				if string(key) == "RssShmem" {
					s.shared = kib * record.KiB
				}
			}
		case "Threads":
			s.threads, _ = number(value)
		}
	}
	return s
}

// proportional returns the anonymous and shared memory of a process from the text of its
// smaps_rollup. If n processes have a page, it counts for one n-th in each of them. ok is false
// on a kernel without these fields (before Linux 5.4).
func proportional(text []byte) (host int64, ok bool) {
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		switch string(key) {
		case "Pss_Anon", "Pss_Shmem", "SwapPss":
			if kib, isNumber := number(value); isNumber {
				host += kib * record.KiB
				ok = ok || string(key) == "Pss_Anon"
			}
		}
	}
	return host, ok
}

// number returns the number at the beginning of a value such as "  123 kB".
func number(value []byte) (n int64, ok bool) {
	fields := bytes.Fields(value)
	if len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return n, err == nil
}

// openFiles returns the number of file descriptors that a process has open. Since Linux 6.2 the
// size of /proc/PID/fd is that number. On older kernels the size is 0, and openFiles lists the
// folder.
func openFiles(pid int) (n int64, ok bool) {
	path := procFile(pid, "fd")
	var stat unix.Stat_t
	if unix.Stat(path, &stat) == nil && stat.Size > 0 {
		return stat.Size, true
	}
	dir, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	return int64(len(names)), err == nil
}

// LimitsOf returns the limits under which a process runs, as [record.Limits] describes them.
func LimitsOf(pid int) (l record.Limits) {
	l.PID = pid
	of := strconv.Itoa(pid)
	total, _ := fileKiB(filepath.Join(procFolder, "meminfo"), "MemTotal:")
	l.Memory = total
	if limit, err := hostTotal(procFolder, cgroupFolder, of); err == nil && limit < total {
		l.Memory, l.Group = limit, true
	}
	if text, err := os.ReadFile(procFile(pid, "limits")); err == nil {
		l.Files, l.Tasks = softLimit(text, "Max open files"), softLimit(text, "Max processes")
	}
	if pidsMax := lowest(procFolder, cgroupFolder, of, "pids.max"); pidsMax > 0 && (l.Tasks == 0 ||
		pidsMax < int64(l.Tasks)) {
		l.Tasks = int(pidsMax)
	}
	var fs unix.Statfs_t
	if unix.Statfs(sharedMemory, &fs) == nil {
		l.Shared = int64(fs.Blocks) * fs.Bsize
	}
	return l
}

// softLimit returns a soft limit from the text of /proc/PID/limits, or 0 if there is none:
//
//	Max open files            1024                 1048576              files
func softLimit(text []byte, name string) int {
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0]) // "unlimited" gives 0
			return n
		}
	}
	return 0
}

// Available returns how many more bytes of memory the process with this PID can take: MemAvailable
// of the machine, or what is left of the lowest limit of its control groups. Pages of files that
// the kernel can drop count as free. It returns 0 if this is not known.
func Available(pid int) int64 {
	return available(procFolder, cgroupFolder, strconv.Itoa(pid))
}

func available(proc, cgroups, of string) int64 {
	left, err := fileKiB(filepath.Join(proc, "meminfo"), "MemAvailable:")
	if err != nil {
		return 0
	}
	for group := range groups(proc, cgroups, of) {
		limit, hasLimit := fileNumber(filepath.Join(group, "memory.max"))
		used, hasUsed := fileNumber(filepath.Join(group, "memory.current"))
		if hasLimit && hasUsed {
			cache := int64(0)
			if stat, err := os.ReadFile(filepath.Join(group, "memory.stat")); err == nil {
				cache = fieldOf(stat, "inactive_file")
			}
			left = min(left, max(0, limit-used+cache))
		}
	}
	return left
}

// SharedFree returns the free memory of /dev/shm in bytes, or 0 if it is not known.
func SharedFree() int64 {
	var fs unix.Statfs_t
	if unix.Statfs(sharedMemory, &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}

// lowest returns the lowest number in the file with this name of a process's control group and the
// groups above it, or 0 if none has a number.
func lowest(proc, cgroups, of, name string) (least int64) {
	for group := range groups(proc, cgroups, of) {
		if n, ok := fileNumber(filepath.Join(group, name)); ok && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func fileNumber(path string) (n int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
	return n, err == nil
}

// fieldOf returns the number in a line such as "inactive_file 4096", or 0.
func fieldOf(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 2 && string(fields[0]) == name {
			n, _ := number(fields[1])
			return n
		}
	}
	return 0
}
