package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"vramsoak/parser/bounded"
)

// The first bytes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Open opens a log: a file, or standard input if the path is "-". It recognises gzip and zstd by
// the first bytes of the file, not by the file's name. It converts UTF-16 with a byte order mark
// to UTF-8. If the path is a folder, the error says which file to give instead.
func Open(path string) (*Log, error) {
	file := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		file = f
	}
	info, err := file.Stat()
	if path == "-" && errors.Is(err, os.ErrClosed) {
		return nil, errors.New("standard input was read already; name it (-) once")
	}
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder; expected a log, such as the soak.log of a run folder", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	log := &Log{waits: !info.Mode().IsRegular(), close: file.Close}
	buffered := bufio.NewReaderSize(file, 64<<10)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", path, err), file.Close())
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s begins like gzip: %w", path, err), file.Close())
		}
		log.Reader, log.close = inUTF8(z), func() error { return errors.Join(z.Close(), file.Close()) }
		return log, nil
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := bounded.Zstd(buffered, file)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		}
		log.Reader, log.close = inUTF8(z), func() error { return errors.Join(z.Close(), file.Close()) }
		return log, nil
	}
	log.Reader = inUTF8(buffered)
	marked := bytes.HasPrefix(magic, []byte{0xef, 0xbb, 0xbf})
	if path != "-" && !marked &&
		log.Reader == io.Reader(buffered) { // standard input may begin in the middle of a file
		log.file = file
	}
	return log, nil
}

// A Log is a log that has been opened for reading. Reading it gives the decompressed text in
// UTF-8.
type Log struct {
	io.Reader
	file  *os.File // nil for standard input, and if the text differs from the file's bytes (gzip)
	waits bool
	close func() error
}

// MayWait reports whether reading the log may block, because the log is a pipe or a terminal. The
// caller should then use the bytes that have arrived, without waiting for more.
func (l *Log) MayWait() bool { return l.waits }

// Size returns the size of the log's text in bytes. known is false if the size is unknown before
// the whole log is read: for a pipe, a compressed file, and UTF-16.
func (l *Log) Size() (bytes int64, known bool) {
	if l.file == nil || l.waits {
		return 0, false
	}
	info, err := l.file.Stat()
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// Close closes the log's file.
func (l *Log) Close() error { return l.close() }
