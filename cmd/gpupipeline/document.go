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

// A document is the result for a file, with the fields of its JSON. Times are in seconds.
type document struct {
	Path     string  `json:"path"`
	Seconds  float64 `json:"seconds"` // of audio
	Language string  `json:"language"`
	// Segments contain the words. They have speakers if the file was diarized.
	Segments []speakers.Segment `json:"segments"`
	Turns    []speakers.Turn    `json:"turns,omitempty"`
	// TextEmbedding has the embeddings of the segments' texts.
	TextEmbedding *textEmbedding `json:"text_embedding,omitempty"`
	// Fallback says which results are missing because memory ran out.
	Fallback string `json:"fallback,omitempty"`
	Truth    *score `json:"truth,omitempty"`
}

// fallBack records that a result is missing because memory ran out.
func (d *document) fallBack(missing string) {
	if d.Fallback != "" {
		d.Fallback += "; "
	}
	d.Fallback += missing
}

// formats holds the function that writes each format. The name of a format is also the file
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

// audioName returns the name of an audio file in RTTM: the file's name without the extension, as in
// pyannote.
func audioName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// allFormats holds the names of the formats, in the order in which messages list them.
var allFormats = []string{"json", "srt", "vtt", "rttm"}

// documentName returns a document's file name. It consists of the audio file's name and a digest of
// its path, because a batch may contain both a/1.wav and b/1.wav. It depends on nothing else, so a
// process that resumes the batch uses the same names. A long name is cut, because file systems
// allow only 255 bytes, and the temporary file has a longer name.
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

// write writes the document into the folder dir, in each of the formats. It writes a temporary file
// and renames it when it is complete, so that no reader sees half a file. If dir is "", it writes
// nothing.
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
