package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// A zstd reader keeps the file's window in memory. The window is the last part of the
// decompressed text; later data may refer to it. Files from zstd's levels up to 19 need a window
// of at most 8 MiB, files from --ultra -22 and --long need 128 MiB. A small file that asks for a
// large window is hostile. So a window above 8 MiB may be at most maxWindowRatio times as large
// as the file.
const (
	minWindow      = 8 << 20
	maxWindow      = 128 << 20
	maxWindowRatio = 100
)

// Zstd returns a reader of the zstd data in r. The parameter file is the file that r reads, or nil
// if r does not read a file.
func Zstd(r io.Reader, file *os.File) (io.ReadCloser, error) {
	size := int64(0)
	if file != nil {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	most := uint64(min(max(minWindow, maxWindowRatio*size), maxWindow))
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(most))
	if err != nil {
		return nil, fmt.Errorf("it begins like zstd: %w", err)
	}
	return &unzstd{z, most}, nil
}

// An unzstd is a zstd reader whose error about a window that is too large says what to do.
type unzstd struct {
	*zstd.Decoder
	window uint64
}

func (z *unzstd) Read(p []byte) (int, error) {
	n, err := z.Decoder.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("expected a zstd file with a window of at most %d MiB, found a larger one; "+
			"unpack it first, with zstd -d --long=31", z.window>>20)
	}
	return n, err
}

func (z *unzstd) Close() error {
	z.Decoder.Close()
	return nil
}
