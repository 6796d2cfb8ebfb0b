package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramsoak/harness/secret"
	"vramsoak/parser/lex"
	"vramsoak/pipeline/meter"
)

// commandMax is how many bytes of a command line are shown at most.
const commandMax = 200

// A proc is a process as /proc shows it.
type proc struct {
	pid, parent, group int
	state              byte // 'Z': ended, but no parent has waited for it
	// born is the start time, in clock ticks since the machine started. A later process with the same
	// PID has a different start time.
	born uint64
	// kernel is true for a thread of the kernel, which has no program and no environment.
	kernel bool
}

// kernelThread is the flag of a kernel thread: PF_KTHREAD in the kernel's include/linux/sched.h.
const kernelThread = 0x00200000

// readProc returns the process with this PID as /proc shows it. ok is false if there is no such
// process.
func readProc(pid int) (p proc, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	// An example of the text is "4711 (python3 -m (x)) S 1 4711 ...". The name in parentheses may
	// contain anything, so the fields begin after the last parenthesis.
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

// readProcs returns all processes that /proc shows.
func readProcs() ([]proc, error) {
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

// runs reports whether the process still runs: it is not a zombie, and its PID has not gone to a
// later process.
func (p proc) runs() bool {
	now, ok := readProc(p.pid)
	return ok && now.born == p.born && now.state != 'Z' && now.state != 'X'
}

// environ returns the values of the named variables in the environment with which the process was
// started, in the order of names. A value is "" if the variable is missing or the harness may not
// read the environment. ok is false if the environment is empty, as it is before the program of the
// process has started.
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

// reachable reports whether the process belongs to this user and this PID namespace. Of a process
// that does not, the harness trusts neither the PID nor the environment.
func (p proc) reachable() bool {
	var stat unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d", p.pid), &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return false
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid))
	return err == nil && err2 == nil && own == theirs
}

// orphan returns the process as an [Orphan] of the run with the id run.
func (p proc) orphan(run string) Orphan {
	o := Orphan{PID: p.pid, Run: run, Command: p.command(), proc: p}
	o.RSS, _ = meter.RSS(p.pid) // 0 if it has ended since
	return o
}

// command returns the process's command line for a person to read, with its secrets masked.
func (p proc) command() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	if err != nil || len(text) == 0 { // a kernel thread or a zombie has no command line
		text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
		return "[" + strings.TrimSpace(string(text)) + "]"
	}
	argv := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	argv, _ = secret.Names(nil).Arguments(argv)
	return lex.Shorten(strings.ToValidUTF8(CommandLine(argv), "\uFFFD"), commandMax)
}

// CommandOf returns the command line of a process, shortened and with its secrets masked; ok is
// false if there is no such process.
func CommandOf(pid int) (command string, ok bool) {
	p, ok := readProc(pid)
	if !ok {
		return "", false
	}
	return p.command(), true
}

// Stopped reports whether a signal has stopped a process, as SIGSTOP and Ctrl-Z do. It runs again
// after SIGCONT.
func Stopped(pid int) bool {
	p, ok := readProc(pid)
	return ok && p.state == 'T'
}

// CommandLine joins a command's arguments for a person to read, quoted as a shell would need them.
func CommandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`*?|&;<>()#") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
