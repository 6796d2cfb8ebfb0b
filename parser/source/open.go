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

// Open opens a log: a file, gzip- and zstd-compressed ones too (told by their first bytes, not by their names), or "-"
// for standard input. UTF-16 with a byte order mark is read as UTF-8. A folder is an error that says what to give instead.
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
	if path != "-" && !marked && log.Reader == io.Reader(buffered) { // standard input may be read from its middle on
		log.file = file
	}
	return log, nil
}

// A Log is a log that is open.
type Log struct {
	io.Reader
	file  *os.File // nil where what is read is not the file's own bytes
	waits bool
	close func() error
}

// MayWait says that the log may have nothing for now, as a pipe has or a terminal, so that what has come is to be read
// meanwhile.
func (l *Log) MayWait() bool { return l.waits }

// Size returns how many bytes of text the log has, where that is known before it is read: of a file
// that is neither compressed nor in UTF-16.
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
