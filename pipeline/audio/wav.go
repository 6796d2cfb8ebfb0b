package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The sample rates that decodeWAV reads, in hertz: from telephone to studio.
const (
	minRate = 8000
	maxRate = 192000
)

// Codes of encodings in the fmt chunk, from Microsoft's mmreg.h. An extensible header has the real
// code in its last field.
const (
	formatPCM        = 1
	formatFloat      = 3
	formatExtensible = 0xfffe
)

// placeholder is the smallest data size that does not count as a real size. Writers that do not
// know the size, and cannot go back to correct it, write such a number: SoX 0x7ffff000, arecord
// 0x7fffffff or 0x80000000.
const placeholder = 0x7ffff000

// unknownSize in a size field means that the writer could not go back to fill in the size (ffmpeg
// writing to a pipe), or that the size is in the ds64 chunk of an RF64 file.
const unknownSize = 0xffffffff

// A codecError is the error for a WAV file in an encoding that decodeWAV leaves to ffmpeg.
type codecError struct {
	offset int64
	found  string
}

func (e *codecError) Error() string {
	return fmt.Sprintf("byte %d: expected 8, 16, 24 or 32-bit PCM or 32 or 64-bit float samples, "+
		"found %s; convert it with ffmpeg",
		e.offset, e.found)
}

// decodeWAV reads a WAV file with a sample rate of 8 to 192 kHz, in a plain or extensible format.
// Samples are 8-bit unsigned, 16, 24 or 32-bit integers, or 32 or 64-bit floats. decodeWAV returns
// the mean of all channels, and clips float samples beyond full scale.
//
// Real files often break the rules. So decodeWAV accepts chunks before the data in any order, odd
// chunks without their pad byte, and the data size of a stream that was never finished. If a file
// was cut off, decodeWAV returns the samples that the file has.
func decodeWAV(r io.Reader) (Samples, error) {
	w := &wavReader{r: bufio.NewReader(r)}
	data, err := w.header()
	if err != nil {
		return Samples{}, err
	}
	return w.samples(data)
}

// wavReader reads a WAV file and counts the bytes, for error messages.
type wavReader struct {
	r      *bufio.Reader
	offset int64
	format wavFormat
}

// wavFormat is the part of the fmt chunk that is needed to decode samples.
type wavFormat struct {
	float    bool
	channels int
	rate     int // hertz
	width    int // bytes of one sample of one channel
}

// read fills p. what names the content of p in the error for a file that ends too early.
func (w *wavReader) read(p []byte, what string) error {
	n, err := io.ReadFull(w.r, p)
	w.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("byte %d: expected %s, found the end of the file; write or copy it again",
			w.offset, what)
	}
	return err
}

// header reads up to the first sample. It returns the number of bytes of sample data, or
// math.MaxInt64 if the samples go on to the end of the file.
func (w *wavReader) header() (data int64, err error) {
	var riff [12]byte
	if err := w.read(riff[:], "a RIFF header"); err != nil {
		return 0, err
	}
	if !isWAV(riff[:]) {
		return 0, fmt.Errorf("byte 0: expected RIFF....WAVE, found %q; is this a WAV file?", riff)
	}
	riffSize := binary.LittleEndian.Uint32(riff[4:])
	data64 := int64(math.MaxInt64) // the data size from a ds64 chunk
	for {
		var head [8]byte
		if err := w.read(head[:], "a data chunk"); err != nil {
			return 0, err
		}
		id, size := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		switch id {
		case "fmt ":
			used, err := w.readFormat(size)
			if err != nil {
				return 0, err
			}
			size -= used
		case "ds64":
			var sizes [16]byte // riffSize, dataSize
			if err := w.read(sizes[:], "the sizes of a ds64 chunk"); err != nil {
				return 0, err
			}
			if n := binary.LittleEndian.Uint64(sizes[8:]); n <= math.MaxInt64 {
				data64 = int64(n)
			}
			size -= int64(len(sizes))
		case "data":
			if w.format.width == 0 {
				return 0, fmt.Errorf("byte %d: expected a fmt chunk before the data, found none; "+
					"the header is damaged, export the file again",
					w.offset-8)
			}
			switch {
			case size == unknownSize:
				return data64, nil
			case size == 0 && unfinished(riffSize, w.offset):
				return math.MaxInt64, nil
			}
			return size, nil
		}
		if err := w.skip(size); err != nil {
			return 0, err
		}
	}
}

// unfinished reports whether a data size of 0 means that the writer of a recording never filled in
// the sizes. In this case the RIFF size is 0 or unknown, or the RIFF chunk ends where the samples
// begin, at offset. Otherwise the recording is really empty, and other chunks follow its empty
// data.
func unfinished(riffSize uint32, offset int64) bool {
	return riffSize == unknownSize || int64(riffSize)+8 <= offset
}

// skip skips the remaining size bytes of a chunk. A chunk of odd size should be followed by a pad
// byte of 0, which some writers forget. No chunk's name begins with 0, so a byte of 0 is a pad
// byte.
func (w *wavReader) skip(size int64) error {
	odd := size&1 == 1
	for size > 0 {
		n, err := w.r.Discard(int(min(size, 1<<16)))
		w.offset += int64(n)
		size -= int64(n)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("byte %d: expected a data chunk, found the end of the file %d "+
				"bytes before the end of another chunk; write or copy it again",
				w.offset, size)
		}
		if err != nil {
			return err
		}
	}
	if pad, err := w.r.Peek(1); odd && err == nil && pad[0] == 0 {
		_, err := w.r.Discard(1)
		w.offset++
		return err
	}
	return nil
}

// readFormat reads the beginning of a fmt chunk of size bytes, and returns how many bytes it read.
func (w *wavReader) readFormat(size int64) (int64, error) {
	start := w.offset
	if size < 16 {
		return 0, fmt.Errorf("byte %d: expected a fmt chunk of at least 16 bytes, found %d; the "+
			"header is damaged, export the file again",
			start, size)
	}
	b := make([]byte, min(size, 40))
	if err := w.read(b, "a fmt chunk"); err != nil {
		return 0, err
	}
	code := binary.LittleEndian.Uint16(b)
	channels := int(binary.LittleEndian.Uint16(b[2:]))
	rate := int64(binary.LittleEndian.Uint32(b[4:]))
	frame := int(binary.LittleEndian.Uint16(b[12:]))
	bits := int(binary.LittleEndian.Uint16(b[14:]))
	if code == formatExtensible && len(b) == 40 {
		code = binary.LittleEndian.Uint16(b[24:])
	}
	switch {
	case code == formatPCM && (bits == 8 || bits == 16 || bits == 24 || bits == 32):
	case code == formatFloat && (bits == 32 || bits == 64):
	default:
		return 0, &codecError{start, fmt.Sprintf("%d-bit %s", bits, codecName(code))}
	}
	if channels == 0 {
		return 0, fmt.Errorf("byte %d: expected at least one channel, found 0; the header is "+
			"damaged, export the file again", start+2)
	}
	if rate < minRate || rate > maxRate {
		return 0, fmt.Errorf("byte %d: expected a sample rate of %d to %d Hz, found %d; convert "+
			"it with ffmpeg -ar %d",
			start+4, minRate, maxRate, rate, Rate)
	}
	if frame != channels*bits/8 {
		return 0, fmt.Errorf("byte %d: expected %d bytes for %d channels of %d bits, found %d; "+
			"the header is damaged, export the file again",
			start+12, channels*bits/8, channels, bits, frame)
	}
	w.format = wavFormat{
		float: code == formatFloat, channels: channels, rate: int(rate),
		width: bits / 8,
	}
	return int64(len(b)), nil
}

// codecName returns the name of an encoding for messages.
func codecName(code uint16) string {
	names := map[uint16]string{
		formatPCM: "PCM", formatFloat: "float", formatExtensible: "extensible format without its " +
			"extension",
		2: "Microsoft ADPCM", 6: "A-law", 7: "mu-law", 0x11: "IMA ADPCM", 0x31: "GSM 6.10",
		0x55: "MP3", 0xff: "AAC",
	}
	if name, ok := names[code]; ok {
		return name
	}
	return fmt.Sprintf("encoding %#x", code)
}

// samples decodes up to size bytes of sample data and resamples them to Rate.
func (w *wavReader) samples(size int64) (Samples, error) {
	frame := w.format.channels * w.format.width // bytes, 65535 at most
	body := io.LimitReader(w.r, size)
	buf := make([]byte, (1<<16)/frame*frame)
	mono := make([]float32, len(buf)/frame)
	rs := newResampler(w.format.rate, Rate)
	var pcm []float32
	read := int64(0)
	for {
		n, err := io.ReadFull(body, buf)
		frames := n / frame // an incomplete last frame is dropped
		for i := range frames {
			x := w.mean(buf[i*frame : (i+1)*frame])
			if math.IsNaN(x) {
				return Samples{},
					fmt.Errorf("byte %d: expected a finite sample, found NaN or infinity; export "+
						"the file again",
						w.offset+int64(i*frame))
			}
			mono[i] = float32(max(-1, min(1, x)))
		}
		w.offset += int64(n)
		read += int64(n)
		pcm = rs.push(pcm, mono[:frames])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return Samples{}, err
		}
	}
	pcm = rs.flush(pcm)
	if len(pcm) == 0 {
		return Samples{},
			fmt.Errorf("byte %d: expected samples, found none; the recording is empty", w.offset)
	}
	for i, x := range pcm {
		pcm[i] = max(-1, min(1, x)) // the filter may overshoot
	}
	s := Samples{PCM: pcm, SourceRate: w.format.rate, SourceChannels: w.format.channels}
	// Other sizes are placeholders or unknown. Sizes above 32 bits come from RF64 files and are
	// real.
	if size < placeholder || size > unknownSize && size < math.MaxInt64 {
		s.Missing = float64((size-read)/int64(frame)) / float64(w.format.rate)
	}
	return s, nil
}

// mean returns the mean of the channels of one frame. Full scale is 1. It returns NaN if a channel
// is not finite.
func (w *wavReader) mean(frame []byte) float64 {
	sum := 0.0
	for b := frame; len(b) > 0; b = b[w.format.width:] {
		sum += w.sample(b)
	}
	if math.IsInf(sum, 0) {
		return math.NaN()
	}
	return sum / float64(w.format.channels)
}

// sample decodes the first sample of b. It divides integers by 2^(bits-1), so that the lowest value
// becomes -1.
func (w *wavReader) sample(b []byte) float64 {
	if w.format.float {
		if w.format.width == 4 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	switch w.format.width {
	case 1:
		return (float64(b[0]) - 128) / (1 << 7)
	case 2:
		return float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
	case 3:
		return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	default:
		return float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)
	}
}
