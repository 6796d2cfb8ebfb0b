package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// A TooLargeError says that a file is larger than the limit for its kind.
type TooLargeError struct {
	Name  string
	Limit int64 // bytes
	Size  int64 // bytes of the file; 0 if unknown, as for a pipe or /dev/zero
}

// Error returns "run.json: expected a file of at most 8 MiB, found one of 2048 MiB; is this the
// right file?".
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: expected a file of at most %s, found %s; is this the right file?",
		e.Name, size(e.Limit), e.Found())
}

// Found returns how large the file is: "one of 2048 MiB", or "more" if the size is unknown.
func (e *TooLargeError) Found() string {
	if e.Size == 0 {
		return "more"
	}
	return "one of " + size(e.Size)
}

// size returns n bytes as text, rounded down: "2048 MiB", "7 KiB", "512 bytes".
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ReadFile returns the content of a file that has at most `most` bytes. For a larger file it
// returns a [*TooLargeError]. If the system gives the size in advance, ReadFile reads nothing of a
// larger file.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return ReadAll(f, path, most)
}

// streamMax is the most bytes that are read from a pipe or a device. The size of a pipe is
// unknown until the pipe ends. So a pipe is refused before the bytes read from it take much
// memory.
const streamMax = 8 << 20

// ReadAll is [ReadFile] for a file that is already open. The parameter name is the file's name in
// the error.
func ReadAll(r io.Reader, name string, most int64) ([]byte, error) {
	if f, ok := r.(*os.File); ok {
		switch info, err := f.Stat(); {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return readStream(r, name, min(most, streamMax))
		case info.Size() > most:
			return nil, &TooLargeError{Name: name, Limit: most, Size: info.Size()}
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, &TooLargeError{Name: name, Limit: most}
	}
	return text, nil
}

// readStream reads a pipe or a device. It allocates once: the system gives memory only for what is
// read, and growing a buffer step by step would take three times as much.
func readStream(r io.Reader, name string, most int64) ([]byte, error) {
	text := make([]byte, most+1)
	n, err := io.ReadFull(r, text)
	switch {
	case err == nil:
		return nil, &TooLargeError{Name: name, Limit: most}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bytes.Clone(text[:n]), nil
	}
	return nil, err
}

// A JSON file with more than manyValues values must have at least valueBytes bytes for each value
// on average. Files that vramsoak writes have twice as many bytes for each value. A hostile file
// such as "[{},{},{}]" has three bytes for each value, but decoding a value takes as much memory
// as if the value were a full one.
const (
	valueBytes = 8
	manyValues = 1 << 16
)

// ReadJSON is [ReadFile] for a JSON file. It also refuses a file that has far more values than a
// real file of its size.
func ReadJSON(path string, most int64) ([]byte, error) {
	text, err := ReadFile(path, most)
	if err != nil {
		return nil, err
	}
	if values := bytes.Count(text, []byte{','}); values > manyValues && values > len(text)/valueBytes {
		return nil, fmt.Errorf("%s: expected values of %d bytes each on average, "+
			"found %d values in %d bytes; "+
			"is this the right file?", path, valueBytes, values, len(text))
	}
	return text, nil
}

// LineColumn returns the line and the column of an offset in a text. Both count from 1. The column
// counts bytes. An offset before or behind the text counts as the text's beginning or end.
func LineColumn(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset, 0), int64(len(text)))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
