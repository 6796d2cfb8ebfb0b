//go:build whisper

package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file that hangs ends with the first signal, after its cleanups.
func TestSignalCleansUp(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		exit   string
	}{{syscall.SIGTERM, "143"}, {syscall.SIGINT, "130"}} {
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
		for lines := 0; lines < 11+5; { // up to "Before Transcription" of the second file
			var b [1]byte
			if _, err := stdout.Read(b[:]); err != nil {
				t.Fatal(err)
			}
			log.Write(b[:])
			if b[0] == '\n' {
				lines++
			}
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if _, err := log.ReadFrom(stdout); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is looked at below
		if got := ending(cmd); got != test.exit {
			t.Errorf("%v: exit %s", test.signal, got)
		}
		tl := timeline(t, &log)
		if statuses(tl) != "ok failed" || !strings.Contains(tl.Files[1].Error, "interrupted: "+test.signal.String()) {
			t.Fatalf("files %s: %+v", statuses(tl), tl.Files)
		}
		if diff := cmp.Diff(wholeFile, names(tl.Files[1])); diff != "" {
			t.Error(diff)
		}
	}
}
