package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// A window is what a zstd file may refer back to, and the reader keeps as much at hand. zstd's
// levels up to 19 take 8 MiB, --ultra -22 and --long take 128 MiB. A file of some bytes that asks
// for that is hostile: the window is at most so many times the file, where it is more than 8 MiB.
const (
	minWindow      = 8 << 20
	maxWindow      = 128 << 20
	maxWindowRatio = 100
)

// Zstd reads what r has, compressed by zstd; file is where it comes from, nil where that is no
// file.
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
