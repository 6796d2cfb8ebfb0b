package audio

import (
	"bufio"
	"io"
	"os"
)

// headerMax is the number of bytes at the start of a file in which WAVSeconds looks for the header.
// Artwork and broadcast metadata before the samples take some 100 KiB.
const headerMax = 1 << 20

// WAVSeconds returns the length of the WAV file at path in seconds, from its header and its size.
// It reads no samples. It returns false if the file is not a regular file, is not WAV, has an
// encoding that decodeWAV cannot read, has a header that is damaged or above 1 MiB, or has no
// samples.
func WAVSeconds(path string) (float64, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return 0, false
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }() // it was only read
	w := &wavReader{r: bufio.NewReader(io.LimitReader(f, headerMax))}
	data, err := w.header()
	if err != nil {
		return 0, false
	}
	// The samples end with the file if the file was cut off, or if its writer did not fill in the
	// size.
	data = min(data, max(0, info.Size()-w.offset))
	frames := data / int64(w.format.channels*w.format.width)
	return float64(frames) / float64(w.format.rate), frames > 0
}
