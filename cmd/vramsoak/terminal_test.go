package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A terminal is a shell in a real terminal, with everything that has scrolled out of it.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal starts a shell in a terminal of this size, in an empty folder.
func openTerminal(t *testing.T, columns, rows int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("this test needs tmux")
	}
	dir := t.TempDir()
	term := &terminal{t, filepath.Join(dir, "s")}
	cmd := term.command("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns),
		"-y", fmt.Sprint(rows), "-c", dir, "env", "PS1=ready> ", "LC_ALL=C.UTF-8", "TERM=screen", "sh")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = term.command("kill-server").Run() })
	term.says("ready>") // keys that arrive before the prompt are shown twice
	return term
}

func (term *terminal) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
}

// run carries out a command of tmux and returns what it prints.
func (term *terminal) run(args ...string) string {
	term.t.Helper()
	out, err := term.command(args...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// shown returns the text on the screen and in the scroll history.
func (term *terminal) shown() string { return term.run("capture-pane", "-p", "-S", "-") }

// says waits until the terminal has a text.
func (term *terminal) says(want string) {
	term.t.Helper()
	wait(term.t, want, func() bool { return strings.Contains(term.shown(), want) })
}

// soak starts a soak of 40 files in the terminal. Each file keeps 4 MiB more than the one before.
func (term *terminal) soak() {
	term.t.Helper()
	term.soakWith("vramsoak soak --files . -- sh pipeline.sh {list}")
}

// soakWith starts a soak as soak does, with this command line.
func (term *terminal) soakWith(command string) {
	term.t.Helper()
	dir := filepath.Dir(term.socket)
	for i := range 40 {
		name := filepath.Join(dir, fmt.Sprintf("%02d.wav", i+1))
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			term.t.Fatal(err)
		}
	}
	const pipeline = `n=100
for f in $(cat "$1"); do
	echo "[pipeline] file-start path=$f"
	echo "[GPU Memory] Before Work: Allocated: ${n}MB | Reserved: 400.00MB | Total: 24.00GB"
	sleep 0.1
	n=$((n+4))
	echo "[GPU Memory] After Work: Allocated: ${n}MB | Reserved: 400.00MB | Total: 24.00GB"
	echo "[pipeline] file-end path=$f status=ok"
done
`
	if err := os.WriteFile(filepath.Join(dir, "pipeline.sh"), []byte(pipeline), 0o600); err != nil {
		term.t.Fatal(err)
	}
	term.run("send-keys", command, "Enter")
	term.says("█") // the bar
}

// viewLeft matches what only the live view shows.
var viewLeft = regexp.MustCompile(`█|░|▁|left 0:|\bnow \d\d\.wav|growing:`)

// left waits for the end of the soak. It returns a description of what the live view left in the
// terminal, or "".
func (term *terminal) left() string {
	term.t.Helper()
	term.says("took ")
	wait(term.t, "the shell", func() bool {
		return strings.HasSuffix(strings.TrimSpace(term.shown()), "ready>")
	})
	shown := term.shown()
	if left := viewLeft.FindString(shown); left != "" {
		return fmt.Sprintf("%q is left in the terminal:\n%s", left, shown)
	}
	if !strings.Contains(shown, "ready> vramsoak soak --files") {
		return "the command is gone:\n" + shown
	}
	return ""
}

// isClean waits for the end of the soak, and checks that nothing of the live view is left.
func (term *terminal) isClean() {
	term.t.Helper()
	if wrong := term.left(); wrong != "" {
		term.t.Error(wrong)
	}
}

// TestViewLeavesNothing: after a soak, nothing of its live view is in a terminal.
func TestViewLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ columns, rows int }{{40, 8}, {60, 24}, {80, 24}, {120, 24}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, size.columns, size.rows)
			term.soak()
			term.isClean()
		})
	}
}

// TestViewResized: a terminal that gets another size while a soak runs has no torn lines. A
// terminal wraps its lines a moment before it says its new size. If the soak draws in between,
// lines are left, which no program can know. That is rare, so most of five soaks must be clean.
func TestViewResized(t *testing.T) {
	t.Parallel()
	const most = 3
	var torn []string
	for clean := 0; clean < most; {
		if wrong := resized(t); wrong == "" {
			clean++
		} else if torn = append(torn, wrong); len(torn) == most {
			t.Fatal(strings.Join(torn, "\n"))
		}
	}
}

// resized changes the size of a terminal while a soak runs. It returns a description of what the
// live view left in the terminal, or "".
func resized(t *testing.T) (torn string) {
	t.Helper()
	term := openTerminal(t, 120, 24)
	term.soak()
	for _, size := range []string{"60x24", "45x24", "120x24", "100x10"} {
		x, y, _ := strings.Cut(size, "x")
		term.run("resize-window", "-x", x, "-y", y)
		// The test asks for what the soak draws after the resize, which has no event of its own.
		time.Sleep(2 * sizeSettled)
		if shown := term.shown(); strings.Count(shown, " files  ") > 1 {
			torn = fmt.Sprintf("at %s, the view is there more than once:\n%s", size, shown)
		}
	}
	return cmp.Or(torn, term.left())
}

// TestViewStopped: Ctrl-Z removes the view, so that it does not remove lines of the shell when the
// soak goes on.
func TestViewStopped(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, 100, 24)
	term.soak()
	term.run("send-keys", "C-z")
	term.says("Stopped")
	if left := viewLeft.FindString(term.shown()); left != "" {
		t.Errorf("%q is shown:\n%s", left, term.shown())
	}
	term.run("send-keys", "echo hel''lo", "Enter")
	term.says("\nhello")
	term.run("send-keys", "fg", "Enter")
	term.isClean()
	for _, want := range []string{"\nhello", "ready> fg"} {
		if shown := term.shown(); !strings.Contains(shown, want) {
			t.Errorf("%q is gone:\n%s", want, shown)
		}
	}
}

// TestNotStopped: Ctrl-Z does not stop a soak that no shell could continue, or that ignores it.
func TestNotStopped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this test needs Python")
	}
	const soak = "exec vramsoak soak --files . -- sh pipeline.sh {list}"
	for _, test := range []struct{ name, command string }{
		// A terminal of its own without a shell, as with ssh -t.
		{"no shell", `python3 -c 'import pty; pty.spawn(["sh", "-c", "stty cols 100; ` + soak + `"])'`},
		{"ignored", "(trap '' TSTP; " + soak + ")"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 100, 24)
			term.soakWith(test.command)
			term.run("send-keys", "C-z")
			term.says("took ")
			if shown := term.shown(); strings.Contains(shown, "Stopped") {
				t.Errorf("the soak was stopped:\n%s", shown)
			}
		})
	}
}

// TestViewInterrupted: after Ctrl-C the terminal is as it was: the cursor can be seen, and what the
// user types.
func TestViewInterrupted(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, 80, 24)
	const modes = "#{cursor_flag} #{insert_flag} #{wrap_flag} #{alternate_on}"
	before := term.run("display-message", "-p", modes)
	term.soak()
	term.run("send-keys", "C-c")
	term.isClean()
	term.says("vramsoak soak --resume")
	if after := term.run("display-message", "-p", modes); after != before {
		t.Errorf("the terminal has %s, before %s", after, before)
	}
	term.run("send-keys", "stty -a | tr ' ' '\\n' | grep -cx -e echo -e icanon -e isig", "Enter")
	term.says("\n3\n")
}
