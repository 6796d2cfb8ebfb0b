package meter

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser/record"
)

// TestResources: the resources of this process grow by what it takes.
func TestResources(t *testing.T) {
	pids := []int{os.Getpid()}
	before := Resources(pids)
	for range 3 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
	}
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after := Resources(pids)
	grown := func(of record.Resource) int64 {
		a, hasA := after.Get(of)
		b, hasB := before.Get(of)
		if !hasA || !hasB {
			t.Fatalf("%s is not known", of)
		}
		return a - b
	}
	if n := grown(record.FileDescriptors); n != 3 {
		t.Errorf("opening 3 files adds %d file descriptors", n)
	}
	if n := grown(record.HostMemory); n < 60<<20 {
		t.Errorf("64 MiB add %d bytes of host memory", n)
	}
	if n, _ := after.Get(record.Threads); n < 1 {
		t.Errorf("this process has %d threads", n)
	}
	if n, _ := after.Get(record.Processes); n != 1 {
		t.Errorf("one process counts as %d", n)
	}
	block[0] = 2 // the block must live until here
	var none record.Resources
	if got := Resources([]int{1 << 30}); got != none {
		t.Errorf("a process that does not exist holds %v", got)
	}
}

// TestHoldingCountsForksOnce: a process writes 64 MiB and then forks twice. The children share
// the memory with it, so a holding counts it once, and the sum over the processes counts it three
// times.
func TestHoldingCountsForksOnce(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("not run: no python3 here")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `
import os, sys
block = bytearray(64 << 20)
for i in range(0, len(block), 4096): block[i] = 1
read, write = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        os.close(write); os.read(read, 1); os._exit(0)
print("ready", flush=True)
sys.stdin.read()
`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("expected ready, found %q, %v", line, err)
	}
	pids := Tree(cmd.Process.Pid)
	sum := Resources(pids)
	once, most := Holding(pids)
	added, _ := sum.Get(record.HostMemory)
	host, _ := once.Get(record.HostMemory)
	if len(pids) != 3 || added < 180<<20 || host < 60<<20 || host > 110<<20 {
		t.Errorf("%d processes hold %d MiB, and %d MiB if shared pages count once", len(pids),
			added>>20, host>>20)
	}
	if all, _ := sum.Get(record.FileDescriptors); most < 3 || int64(most) >= all {
		t.Errorf("one process has at most %d files open, and all together %d", most, all)
	}
	_ = in.Close()
	_ = cmd.Wait()
}

// TestLimits reads the limits in a text of the kernel, and those of control groups: the lowest of
// a group and the groups above it counts.
func TestLimits(t *testing.T) {
	text := "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max processes             unlimited            96364                processes \n" +
		"Max open files            1024                 1048576              files     \n"
	if n := softLimit([]byte(text), "Max open files"); n != 1024 {
		t.Errorf("the limit of open files is %d", n)
	}
	if n := softLimit([]byte(text), "Max processes"); n != 0 {
		t.Errorf("no limit of processes is %d", n)
	}
	proc, groups := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(proc, "meminfo"), "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n")
	write(filepath.Join(proc, "self/cgroup"), "0::/job/step\n")
	write(filepath.Join(groups, "job/memory.max"), "4294967296\n")
	write(filepath.Join(groups, "job/memory.current"), "2147483648\n")
	write(filepath.Join(groups, "job/memory.stat"), "anon 1073741824\ninactive_file 536870912\n")
	write(filepath.Join(groups, "job/step/memory.max"), "max\n")
	write(filepath.Join(groups, "job/pids.max"), "100\n")
	write(filepath.Join(groups, "job/step/pids.max"), "max\n")
	// 4 GiB are allowed, 2 GiB are in use, and 0.5 GiB of them are pages of files.
	if left := available(proc, groups, "self"); left != 5<<29 {
		t.Errorf("%d bytes are available", left)
	}
	if n := lowest(proc, groups, "self", "pids.max"); n != 100 {
		t.Errorf("the limit of tasks is %d", n)
	}
	if s := parseStatus([]byte("RssAnon:\t 100 kB\nRssFile: 7 kB\nRssShmem: 20 kB\nVmSwap: 3 kB\n" +
		"Threads:\t12\n")); s.host != 123<<10 || s.threads != 12 {
		t.Errorf("read %+v", s)
	}
	if host, ok := proportional([]byte("Pss: 900 kB\nPss_Anon: 100 kB\nPss_File: 790 kB\n" +
		"Pss_Shmem: 10 kB\nSwapPss: 1 kB\n")); !ok || host != 111<<10 {
		t.Errorf("the share is %d, %v", host, ok)
	}
}

// TestShared: of the files in a folder, those that a process of the run created count, also after
// their names are gone, and those that existed before do not.
func TestShared(t *testing.T) {
	if _, err := os.Stat(sharedMemory); err != nil {
		t.Skipf("not run: %v", err)
	}
	t.Setenv("TMPDIR", sharedMemory)
	dir := t.TempDir()
	create := func(name string) *os.File {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	old := create("old")
	s := openShared(dir)
	pids := []int{os.Getpid()}
	named, unnamed := create("named"), create("unnamed")
	if err := os.Remove(unnamed.Name()); err != nil {
		t.Fatal(err)
	}
	if n := s.Held(pids); n != 2<<20 {
		t.Errorf("two new files of 1 MiB, one without a name, hold %d bytes", n)
	}
	for _, f := range []*os.File{old, named, unnamed} {
		_ = f.Close()
	}
	if n := s.Held(pids); n != 1<<20 {
		t.Errorf("after all files are closed, the one with a name holds %d bytes", n)
	}
	if left := s.Left(); len(left) != 1 || left[0] != (SharedFile{named.Name(), 1 << 20, true}) {
		t.Errorf("left behind: %v", left)
	}
	fd, err := unix.MemfdCreate("test", 0)
	if err != nil {
		t.Fatal(err)
	}
	memfd := os.NewFile(uintptr(fd), "memfd")
	if _, err := memfd.WriteString(strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if n := s.Held(pids); n != 2<<20 {
		t.Errorf("with a memfd of 1 MiB, %d bytes are held", n)
	}
	_ = memfd.Close()
	// A file that another program has open is not the run's.
	other := create("other")
	if n := s.Held([]int{1 << 30}); n != 1<<20 {
		t.Errorf("with a file of another program, the run holds %d bytes", n)
	}
	_ = other.Close()
}

// TestSharedSince: a run that is resumed counts the files that it made before.
func TestSharedSince(t *testing.T) {
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	f, err := os.CreateTemp(dir, "vramsoak-test-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	born := time.Now()
	if _, err := f.WriteString(strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		start time.Time
		want  int64
	}{{born.Add(time.Hour), 0}, {born.Add(-time.Second), 1 << 20}} {
		s := OpenShared()
		s.Since(c.start)
		if n := s.Held([]int{os.Getpid()}); n < c.want || c.want == 0 && n >= 1<<20 {
			t.Errorf("since %s: %d bytes held, want %d", c.start, n, c.want)
		}
	}
	_ = f.Close()
}

// TestSharedWatch: files that a process writes and closes at once are seen with it, most of them.
func TestSharedWatch(t *testing.T) {
	dir := t.TempDir()
	s, stop := openShared(dir), make(chan struct{})
	pids := []int{os.Getpid()}
	if err := s.Watch(func(by func(pids []int) bool) { by(pids) }, stop); err != nil {
		t.Fatal(err)
	}
	defer close(stop)
	seen := 0
	for i := range 50 {
		path := filepath.Join(dir, strconv.Itoa(i))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Repeat("x", 2<<20)); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	for _, f := range s.Left() {
		if f.Seen {
			seen++
		}
	}
	if seen == 0 {
		t.Error("of 50 files that were closed at once, none was seen with this process")
	}
	t.Logf("%d of 50 files were seen", seen)
}

// TestSharedMapping reads a line of /proc/PID/maps.
func TestSharedMapping(t *testing.T) {
	s := &Shared{dir: "/dev/shm"}
	inode, length, ok := s.mapping(
		"7f169a000000-7f169e000000 rw-s 00000000 00:1a 2053   /dev/shm/psm_5f2c (deleted)")
	if !ok || inode != 2053 || length != 64<<20 {
		t.Errorf("read inode %d, %d bytes, %v", inode, length, ok)
	}
	for _, line := range []string{
		"", "7f-8f rw-s", "7f169a000000-7f169e000000 rw-s 0 00:06 143 /dev/nvidia0",
		"7f169a000000-7f169e000000 rw-s 0 00:06 143 /tmp/dev/shm/x",
	} {
		if _, _, ok := s.mapping(line); ok {
			t.Errorf("%q is a mapping", line)
		}
	}
}
