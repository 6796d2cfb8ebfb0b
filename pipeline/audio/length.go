package audio

import (
	"bufio"
	"io"
	"os"
)

// headerMax is how far into a file the header is looked for: artwork and broadcast metadata take
// some 100 KiB.
const headerMax = 1 << 20

// WAVSeconds is the duration of the WAV file at path by its header and its size; no sample is read.
// It is false where that does not tell: for another format, an encoding that DecodeWAV does not
// take, a header that is damaged or longer than 1 MiB, no samples, or what is no regular file.
func WAVSeconds(path string) (float64, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // to open a pipe waits for its writer
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
	// Of a file that ends early, or whose writer did not say.
	data = min(data, max(0, info.Size()-w.offset))
	frames := data / int64(w.format.channels*w.format.width)
	return float64(frames) / float64(w.format.rate), frames > 0
}
