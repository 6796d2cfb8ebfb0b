//go:build whisper

package main

import (
	"bufio"
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSignalCleansUp: the first signal ends a file that hangs. Its cleanups still run.
func TestSignalCleansUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		exit   string
	}{{syscall.SIGTERM, "143"}, {syscall.SIGINT, "130"}, {syscall.SIGQUIT, "131"}} {
		files := audioFiles(t)
		cmd := command(t, "--model", model, "--fault", "hang:2", files[0], files[1], files[2])
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		lines := bufio.NewReader(stdout)
		for begun := 0; begun < 2; { // until "Before Transcription" of the second file
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			log.WriteString(line)
			if strings.Contains(line, "] Before Transcription: ") {
				begun++
			}
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if _, err := log.ReadFrom(lines); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code is checked below
		if got := ending(cmd); got != test.exit {
			t.Errorf("%v: exit %s", test.signal, got)
		}
		tl := timelineOf(t, &log)
		if statuses(tl) != "ok failed" || !strings.Contains(tl.Files[1].Error, "interrupted: "+
			test.signal.String()) {
			t.Fatalf("files %s: %+v", statuses(tl), tl.Files)
		}
		if diff := cmp.Diff(wholeFile, names(tl.Files[1])); diff != "" {
			t.Error(diff)
		}
	}
}
