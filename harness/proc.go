package harness

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramsoak/harness/secret"
	"vramsoak/pipeline/meter"
)

// commandMax is how much of a command line is told, in bytes.
const commandMax = 200

// A proc is a process as /proc shows it.
type proc struct {
	pid, parent, group int
	state              byte // 'Z' for one that has ended and was not waited for
	// born is when it started, in clock ticks since the machine did: what tells it from a later process of its number.
	born uint64
	// kernel says that it is a thread of the kernel's, which has no program and no environment.
	kernel bool
}

// kernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

// readProc reads a process; ok is false where there is none.
func readProc(pid int) (p proc, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	// "4711 (python3 -m (x)) S 1 4711 ...": the name may hold anything, so that the last parenthesis counts.
	i := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[i+1:]))
	if i < 0 || len(fields) < 20 {
		return proc{}, false
	}
	p = proc{pid: pid, state: fields[0][0]}
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	p.kernel = flags&kernelThread != 0
	p.born, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

// procs are all processes that /proc shows.
func procs() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	var all []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// runs says that the process is still there and works: it is no zombie, and no other one has got its number.
func (p proc) runs() bool {
	now, ok := readProc(p.pid)
	return ok && now.born == p.born && now.state != 'Z' && now.state != 'X'
}

// signal sends a signal to this very process. One that has ended, or is not ours to signal, gets none.
func (p proc) signal(sig unix.Signal) {
	// What is opened before the look at its start cannot be a later process of the same number.
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if !p.runs() {
		return
	}
	if err != nil || unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS { // a kernel without it (before 5.3)
		_ = unix.Kill(p.pid, sig)
	}
}

// environ are the values of variables in the environment that the process was started with; "" where it has none, or may not
// be looked at. ok is false where it has no environment at all, as before its program has begun.
func (p proc) environ(names ...string) (values []string, ok bool) {
	values = make([]string, len(names))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	if err != nil {
		return values, true
	}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		for i, name := range names {
			if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
				values[i] = string(value)
			}
		}
	}
	return values, len(text) > 0
}

// ours says that the process is of this user and in this PID namespace, where its number means what it says.
func (p proc) ours() bool {
	var stat unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d", p.pid), &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return false
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid))
	return err == nil && err2 == nil && own == theirs
}

// leftover is what there is to say of the process.
func (p proc) leftover(run string) Leftover {
	l := Leftover{PID: p.pid, Run: run, Command: p.command(), proc: p}
	l.RSS, _ = meter.RSS(p.pid) // 0 where it has ended since
	return l
}

// command returns the process's command line for a person to read, with its secrets masked.
func (p proc) command() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	if err != nil || len(text) == 0 { // it has none
		text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
		return "[" + strings.TrimSpace(string(text)) + "]"
	}
	argv := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	argv, _ = secret.Names(nil).Arguments(argv)
	line := strings.ToValidUTF8(commandLine(argv), "\uFFFD")
	if len(line) > commandMax {
		line = strings.ToValidUTF8(line[:commandMax], "") + "..."
	}
	return line
}
