//go:build whisper

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2"

	"vramsoak/pipeline/speakers"
)

// A document is the result for a file, in the form of its JSON. Times are seconds.
type document struct {
	Path     string  `json:"path"`
	Seconds  float64 `json:"seconds"` // of audio
	Language string  `json:"language"`
	// Segments have words. They have speakers if there was a diarization.
	Segments []speakers.Segment `json:"segments"`
	Turns    []speakers.Turn    `json:"turns,omitempty"`
	// Fallback says what was left out because memory ran out.
	Fallback string `json:"fallback,omitempty"`
	Truth    *score `json:"truth,omitempty"`
}

// formats are the functions that write a document, by the name of the format, which is also the
// extension.
var formats = map[string]func(io.Writer, *document) error{
	"json": func(w io.Writer, d *document) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(d)
	},
	"srt": func(w io.Writer, d *document) error { return speakers.WriteSRT(w, d.Segments) },
	"vtt": func(w io.Writer, d *document) error { return speakers.WriteVTT(w, d.Segments) },
	"rttm": func(w io.Writer, d *document) error {
		return speakers.WriteRTTM(w, audioName(d.Path), d.Turns)
	},
}

// audioName returns what RTTM calls an audio: its file's name without the extension, as in
// pyannote.
func audioName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// allFormats are the names in the order for people.
var allFormats = []string{"json", "srt", "vtt", "rttm"}

// documentName returns a document's file name: the audio's name and a digest of its path, because a
// batch may hold a/1.wav and b/1.wav. It depends on nothing else, so a process that resumes the
// batch names files like the first one. A long name is cut: file systems allow 255 bytes, and the
// temporary name is longer.
func documentName(path, format string) string {
	const most = 200
	digest := sha256.Sum256([]byte(filepath.Clean(path)))
	name := filepath.Base(path)
	for end := most; len(name) > most; end-- {
		if utf8.RuneStart(name[end]) || end == most-utf8.UTFMax {
			name = name[:end]
		}
	}
	return fmt.Sprintf("%s-%x.%s", name, digest[:6], format)
}

// write writes a document into dir in each format. It renames a complete file into place, so a file
// under its name is never half written. Without dir it writes nothing.
func (d *document) write(dir string, names []string) error {
	if dir == "" {
		return nil
	}
	for _, format := range names {
		var b bytes.Buffer
		if err := formats[format](&b, d); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		path := filepath.Join(dir, documentName(d.Path, format))
		if err := renameio.WriteFile(path, b.Bytes(), 0o644,
			renameio.WithTempDir(dir)); err != nil {
			return err
		}
	}
	return nil
}
