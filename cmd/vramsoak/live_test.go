package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestParseLive: parse shows the lines of a pipe as they come. The test writes the second line only
// after the first was shown. A progress bar's line ends with '\r' alone, which is certain only when
// another byte has come.
func TestParseLive(t *testing.T) {
	t.Run("lines", func(t *testing.T) { testParseLive(t, "\n") })
	t.Run("progress", func(t *testing.T) { testParseLive(t, "\r ") })
}

func testParseLive(t *testing.T, end string) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(chan struct{})
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"first", "second"} {
			if _, err := io.WriteString(w, "[GPU Memory] "+name+": Allocated: 1.00GB"+
				end); err != nil {
				t.Error(err)
			}
			<-seen
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	out, in := io.Pipe()
	go func() {
		in.CloseWithError(runParse(in, io.Discard, []string{path}, parseOptions{format: "table"}))
	}()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"first", "second"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %q, %v; want the checkpoint %q", lines.Text(), lines.Err(), want)
		}
		seen <- struct{}{}
	}
	if lines.Scan() {
		t.Errorf("also got %q", lines.Text())
	}
}
