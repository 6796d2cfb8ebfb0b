//go:build whisper

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"vramsoak/pipeline/whisper"
)

// paths yields the files of the batch: the arguments, then the list's, then stdin's.
func paths(ctx context.Context, o *options) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, path := range o.paths {
			if !yield(path, nil) {
				return
			}
		}
		if o.list != "" {
			list, err := os.Open(o.list)
			if err != nil {
				yield("", fmt.Errorf("--list: %w", err))
				return
			}
			defer func() { _ = list.Close() }() // only read
			if !each(ctx, list, "--list", yield) {
				return
			}
		}
		if o.stdin {
			each(ctx, os.Stdin, "--stdin", yield)
		}
	}
}

// each yields the lines of r that are not empty, each as soon as it is complete, and stops when ctx is canceled. The
// reading is a goroutine's that may outlive the call: a read from a pipe cannot be canceled.
func each(ctx context.Context, r io.Reader, name string, yield func(string, error) bool) bool {
	type result struct {
		line string
		err  error
	}
	lines := make(chan result)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(lines)
		buffered := bufio.NewReader(r)
		for {
			line, err := buffered.ReadString('\n')
			select {
			case lines <- result{strings.TrimRight(line, "\r\n"), err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return false
		case l, ok := <-lines:
			if !ok {
				return true
			}
			if l.line != "" && !yield(l.line, nil) {
				return false
			}
			if l.err != nil && !errors.Is(l.err, io.EOF) {
				yield("", fmt.Errorf("%s: %w", name, l.err))
				return false
			}
		}
	}
}

// A document is a transcript as it is written to a file.
type document struct {
	Path    string  `json:"path"`
	Seconds float64 `json:"seconds"` // of audio
	whisper.Transcript
}

// documentName is the transcript's file name: the audio's, and a digest of its path, for a batch may hold a/1.wav and
// b/1.wav. It depends on nothing else, so that a process that takes the batch up again names files as the first did.
func documentName(path string) string {
	digest := sha256.Sum256([]byte(filepath.Clean(path)))
	return fmt.Sprintf("%s-%x.json", filepath.Base(path), digest[:6])
}

// write writes a transcript into dir by rename: under its name there is a whole one or none. No dir, no transcript.
func write(dir, path string, seconds float64, t whisper.Transcript) error {
	if dir == "" {
		return nil
	}
	data, err := json.MarshalIndent(document{path, seconds, t}, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, documentName(path)), append(data, '\n'), 0o644, renameio.WithTempDir(dir))
}
