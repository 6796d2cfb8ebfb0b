package runfolder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"vramsoak/harness/queue"
	"vramsoak/parser/bounded"
)

// MaxFiles is how many files a batch may have, with all repetitions. The harness keeps some 100
// bytes per file.
const MaxFiles = 10_000_000

// A batchLine is one file of the batch as a line of batch.jsonl. The lines have the order of
// --files. batch.jsonl keeps which files the folders of --files held when the run began, so that a
// resumed run gets the same files.
type batchLine struct {
	Path string `json:"path"`
	// Bytes is the path if it is not valid UTF-8, because JSON can hold only valid UTF-8.
	Bytes        []byte  `json:"path_bytes,omitempty"`
	AudioSeconds float64 `json:"audio_seconds,omitempty"`
	Place        int     `json:"place,omitempty"` // of a shard's file: its number in the whole batch
}

// EncodeBatch writes the files of one round to batch.jsonl, each by a call of encode, which writes
// a value as a line of JSON. In a run with --repeat, each round does the same files.
func EncodeBatch(encode func(any) error, files []queue.Input) error {
	for _, f := range files {
		line := batchLine{Path: f.Path, AudioSeconds: f.AudioSeconds, Place: f.Place}
		if !utf8.ValidString(f.Path) {
			line.Bytes = []byte(f.Path)
		}
		if err := encode(line); err != nil {
			return err
		}
	}
	return nil
}

// ReadBatch returns the files of one round from the batch.jsonl of a run folder.
func ReadBatch(dir string) ([]queue.Input, error) {
	path := filepath.Join(dir, BatchName)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var files []queue.Input
	for text, err := range bounded.Lines(f, path) {
		if err != nil {
			return nil, err
		}
		var line batchLine
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("%s: file %d: expected what vramsoak soak wrote there: %w", path,
				len(files)+1, err)
		}
		if len(files) == MaxFiles {
			return nil, fmt.Errorf("%s: expected at most %d files, found more", path, MaxFiles)
		}
		if line.Bytes != nil {
			line.Path = string(line.Bytes)
		}
		files = append(files, queue.Input{
			Path: line.Path, AudioSeconds: line.AudioSeconds, Place: line.Place,
		})
	}
	return files, nil
}
