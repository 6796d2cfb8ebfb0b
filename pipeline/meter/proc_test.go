package meter

import (
	"bufio"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTree: a shell starts another shell. The tree has both, and RSS can read the memory of the
// second shell.
func TestTree(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'echo $$; read wait'; true")
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	inner, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Tree(cmd.Process.Pid), []int{cmd.Process.Pid, inner}; !slices.Equal(got, want) {
		t.Errorf("the tree is %v, want %v", got, want)
	}
	if rss, err := RSS(inner); err != nil || rss <= 0 {
		t.Errorf("the inner shell's memory is %d, %v", rss, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := RSS(inner); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is gone gives %v", err)
	}
}
