package audio

import (
	"bufio"
	"io"
	"os"
)

// headerMax limits how many bytes of a file are searched for the header. Artwork and broadcast
// metadata before the samples take some 100 KiB.
const headerMax = 1 << 20

// WAVSeconds returns the length of the WAV file at path in seconds, from its header and its size.
// It reads no samples. It returns false if header and size do not give a length: for another
// format, an encoding that decodeWAV cannot read, a damaged header or a header above 1 MiB, a file
// without samples, or anything but a regular file.
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
	// If the file ends early, or its writer did not fill in the size, the samples end with the file.
	data = min(data, max(0, info.Size()-w.offset))
	frames := data / int64(w.format.channels*w.format.width)
	return float64(frames) / float64(w.format.rate), frames > 0
}
