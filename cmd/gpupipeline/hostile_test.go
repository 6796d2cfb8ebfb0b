//go:build whisper

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"
)

// hostile is text that a file's name may contain: lines and commands of other programs, escape
// sequences, bytes that are not UTF-8.
const hostile = "x\nFORGED: 1\n ::error::FORGED\r\x1b[31m\u009b\u202e\u2028##[error]x" +
	"section_start:1:a\r\x1b[0K\x9b\xff"

var harmful = regexp.MustCompile(`(?m)[^\n\t -~\x{a0}-\x{200d}]|^FORGED|^\s*::|##\[|section_start:`)

// TestHostileNames uses hostile names that appear in the log and in messages: of a file that is not
// audio, of one that is, and of missing files, models and flags.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken, sound := filepath.Join(dir, hostile+".wav"), filepath.Join(dir, "2"+hostile+".wav")
	wave, err := os.ReadFile(audioFiles(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{broken: []byte(hostile), sound: wave} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		code int
		args []string
	}{
		{1, []string{"--model", model, broken, sound}},
		{1, []string{"--model", model, hostile}},
		{2, []string{"--model", hostile, sound}},
		{2, []string{"--model", model, "--out", filepath.Join(sound, hostile), sound}},
		{2, []string{"--" + hostile}},
		{2, []string{"--model", model, "--fault", hostile, sound}},
	} {
		var out, errs bytes.Buffer
		cmd := command(t, test.args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code is checked below
		if got := cmd.ProcessState.ExitCode(); got != test.code {
			t.Errorf("%q: exit %d, want %d: %s", test.args, got, test.code, errs.Bytes())
		}
		for _, text := range [][]byte{out.Bytes(), errs.Bytes()} {
			if found := harmful.Find(text); found != nil || !utf8.Valid(text) {
				t.Errorf("%q printed %q in %q", test.args, found, text)
			}
		}
	}
}
