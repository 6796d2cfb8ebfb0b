package bounded

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// A TooLargeError says that a file is larger than what is read of its kind.
type TooLargeError struct {
	Name  string
	Limit int64 // bytes that are read
	Size  int64 // bytes that it has; 0 where that is not known, as of a pipe or of /dev/zero
}

// Error is "run.json: expected a file of at most 8 MiB, found one of 2048 MiB; is this the right
// file?".
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: expected a file of at most %s, found %s; is this the right file?",
		e.Name, size(e.Limit), e.Found())
}

// Found says how large the file is, as far as that is known.
func (e *TooLargeError) Found() string {
	if e.Size == 0 {
		return "more"
	}
	return "one of " + size(e.Size)
}

// size is a number of bytes in the largest unit that gives a whole number of at least 1, rounded
// down.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ReadFile returns the text of a file of at most that many bytes. A larger one is a
// [*TooLargeError]; if its size is known, nothing is read.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return ReadAll(f, path, most)
}

// streamMax is how much is read, at most, of a pipe or a device. How large it is shows only when it
// has been read, and refusing it must not take much memory.
const streamMax = 8 << 20

// ReadAll is [ReadFile] for a file that is open already. Its error has the name.
func ReadAll(r io.Reader, name string, most int64) ([]byte, error) {
	if f, ok := r.(*os.File); ok {
		switch info, err := f.Stat(); {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			most = min(most, streamMax)
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

// Values in JSON are at least so many bytes apart on average, beyond the first manyValues. Those
// that vramsoak writes are twice as far apart. "[{},{},{}]" is three bytes a value, and each takes
// as much memory as a full one.
const (
	valueBytes = 8
	manyValues = 1 << 16
)

// ReadJSON is [ReadFile] of a file in JSON, which may not hold more values than a real one of its
// size.
func ReadJSON(path string, most int64) ([]byte, error) {
	text, err := ReadFile(path, most)
	if err != nil {
		return nil, err
	}
	if values := bytes.Count(text, []byte{','}); values > manyValues && values > len(text)/valueBytes {
		return nil, fmt.Errorf("%s: expected values of %d bytes each on average, found %d values in %d bytes; "+
			"is this the right file?", path, valueBytes, values, len(text))
	}
	return text, nil
}
