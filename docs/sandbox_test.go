package docs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"vramsoak/fixtures/program"
)

func TestMain(m *testing.M) {
	program.Main(m, map[string]func(){"python": standIn, "python3": standIn})
}

// A sandbox is a folder like that of a person who reads the docs. It has the program in bin/, a
// batch in audio/, the repository's fixtures/ and ci/, logs, and the runs of three nights.
type sandbox struct {
	dir string
	env []string
}

// snapshot is a memory snapshot of a program that ran out of memory.
const snapshot = "yiyi-philosophy-llm-inference-oom-snapshot.pickle"

// nights are the run folders. The last one was interrupted.
var nights = []string{"2026-11-19T02-00-00Z", "2026-11-20T02-00-00Z", "2026-11-21T02-00-00Z"}

func newSandbox(t *testing.T) sandbox {
	t.Helper()
	s := sandbox{dir: t.TempDir()}
	s.env = append(os.Environ(), "PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"),
		"NO_COLOR=1", "PYTORCH_CUDA_ALLOC_CONF=", "VRAMSOAK_HISTORY=", "HOME="+s.dir)
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"bin", "runs"} {
		if err := os.Mkdir(filepath.Join(s.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"fixtures", "ci"} {
		if err := os.Symlink(filepath.Join(repository, folder),
			filepath.Join(s.dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{
		"bin/vramsoak":  program.Path(t),
		"run.log":       filepath.Join(repository, "fixtures/examples/night.log"),
		"oom.pickle":    filepath.Join(repository, "fixtures/logs/torch_snapshot", snapshot),
		"pipeline.yaml": filepath.Join(repository, "fixtures/scenarios/pipeline.yaml"),
	} { // copy them, because commands may write to them
		if out, err := exec.Command("cp", from, filepath.Join(s.dir, to)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s.runScript(t, "vramsoak fixtures audio audio --count 12 --seconds 1-2 --seed 1")
	for _, night := range nights {
		s.runScript(t, "vramsoak soak --files audio --runs new -- python3 transcribe.py --list {list}\n"+
			"mv new/* runs/"+night)
	}
	s.cutShort(t, filepath.Join("runs", nights[2], "soak.log"))
	return s
}

// cutShort makes a run look interrupted: its log ends in the middle of the last file.
func (s sandbox) cutShort(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, log))
	if err != nil {
		t.Fatal(err)
	}
	end := strings.LastIndex(string(text), "[vramsoak] file-end")
	if end < 0 {
		t.Fatalf("%s has no end of a file", log)
	}
	s.write(t, log, string(text[:end]))
}

// copy returns a sandbox with the same content, for the commands of one page.
func (s sandbox) copy(t *testing.T) sandbox {
	t.Helper()
	c := sandbox{dir: t.TempDir()}
	for _, v := range s.env {
		c.env = append(c.env, strings.ReplaceAll(v, s.dir, c.dir))
	}
	if out, err := exec.Command("cp", "-a", s.dir+"/.", c.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return c
}

// write writes a file that a page shows, and replaces an existing one.
func (s sandbox) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lineUp is the escape sequence that moves the cursor to the row above.
const lineUp = "\x1b[A"

// erases matches the escape sequence with which the progress erases the rows above the cursor.
var erases = regexp.MustCompile(`\r\x1b\[2K((?:\x1b\[A\x1b\[2K)+)`)

// onScreen returns the text that stays on the screen when all of this output was printed.
func onScreen(output string) string {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	for {
		at := erases.FindStringSubmatchIndex(output)
		if at == nil {
			return output
		}
		before := strings.TrimSuffix(output[:at[0]], "\n")
		for range strings.Count(output[at[2]:at[3]], lineUp) {
			before = before[:max(0, strings.LastIndexByte(before, '\n'))]
		}
		if before != "" {
			before += "\n"
		}
		output = before + output[at[1]:]
	}
}

// terminal runs a command on a terminal of 100 columns without colours, and returns its output and
// its exit code.
func (s sandbox) terminal(t *testing.T, line string) (output string, code int) {
	t.Helper()
	ptmx, tty := openTerminal(t)
	defer func() { _ = ptmx.Close() }()
	cmd := s.command(line)
	cmd.Stdout, cmd.Stderr = tty, tty
	err := cmd.Start()
	_ = tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	// On Linux, reading ends with EIO when the last process has closed the terminal.
	out, _ := io.ReadAll(ptmx)
	if err := cmd.Wait(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatalf("%s: %v", line, err)
		}
		code = exit.ExitCode()
	}
	var lines strings.Builder
	for line := range strings.Lines(onScreen(string(out))) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return lines.String(), code
}

// openTerminal opens a pseudo terminal of 100 columns.
func openTerminal(t *testing.T) (ptmx, tty *os.File) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	fd := int(ptmx.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 100})
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("not run: no terminal: %v", err)
	}
	return ptmx, tty
}

// standIn runs in place of Python in the sandbox. Whatever program it should run, it acts as a
// pipeline that prints checkpoints. Paths are its arguments, or come from a list or standard input.
func standIn() {
	var files []string
	args := os.Args[1:]
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--list": // the list follows
		case strings.HasPrefix(args[i], "--"):
			i++ // skip a flag of the user's program, and its value
		case strings.HasSuffix(args[i], ".wav"):
			files = append(files, args[i])
		case strings.HasSuffix(args[i], ".txt"):
			text, err := os.ReadFile(args[i])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			files = append(files, strings.Fields(string(text))...)
		}
	}
	if len(files) == 0 {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			files = append(files, lines.Text())
		}
	}
	for _, path := range files {
		fmt.Printf("[pipeline] file-start path=%s\n", path)
		for _, c := range []struct {
			name string
			mib  int64
		}{
			{"Before Transcription", 24},
			{"Before Whisper Cleanup", 3200},
			{"After Whisper Cleanup", 26},
			{"After Transcription", 24},
		} {
			const total = 24 << 30
			used := c.mib << 20
			gb := func(n int64) float64 { return float64(n) / (1 << 30) }
			fmt.Printf(
				"[GPU Memory] %s: Allocated: %.2fGB | Reserved: %.2fGB | Free: %.2fGB | Total: 24.00GB "+
					"allocated=%d reserved=%d total=%d\n", c.name, gb(used), gb(used), gb(total-used), used, used,
				int64(total))
		}
		fmt.Printf("[pipeline] file-end path=%s status=ok\n", path)
	}
}
