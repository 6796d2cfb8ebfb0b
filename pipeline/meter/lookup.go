package meter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Proc is where the system shows its processes: /proc.
type Proc string

// RunMark is the environment variable that marks the processes of a run of vramsoak, and all that they start.
const RunMark = "VRAMSOAK_RUN"

func (p Proc) path(pid int, name string) string {
	return filepath.Join(string(p), fmt.Sprint(pid), name)
}

// commandMax is the most bytes of a command that are worth showing.
const commandMax = 200

// Command is what a process was started as, on one line and cut where it is long: "python train.py"; "" of one that is gone,
// and of the kernel's own.
func (p Proc) Command(pid int) string {
	text, err := os.ReadFile(p.path(pid, "cmdline"))
	if err != nil {
		return ""
	}
	s := strings.ToValidUTF8(string(bytes.TrimRight(text, "\x00")), "?")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) <= commandMax {
		return s
	}
	end := commandMax
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// Run is the value of [RunMark] in a process's environment as it was started; "" where it has none, or is another user's.
func (p Proc) Run(pid int) string {
	text, err := os.ReadFile(p.path(pid, "environ"))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if run, ok := bytes.CutPrefix(entry, []byte(RunMark+"=")); ok {
			return string(run)
		}
	}
	return ""
}

// OnGPU says that a process may be one that the driver named: it has a GPU's file open, or its files may not be seen. In a
// container the driver's pids are of another namespace, and the same number is another process there.
func (p Proc) OnGPU(pid int) bool {
	dir := p.path(pid, "fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		return os.IsPermission(err)
	}
	for _, f := range files {
		// /dev/nvidia0, /dev/nvidiactl; under WSL /dev/dxg.
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil &&
			(strings.HasPrefix(to, "/dev/nvidia") || to == "/dev/dxg") {
			return true
		}
	}
	return false
}
