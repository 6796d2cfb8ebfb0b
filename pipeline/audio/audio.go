// Package audio reads audio files in the form that speech engines expect: mono, 16 kHz, float32.
//
//	s, err := audio.ReadFile(ctx, "meeting.wav")
//	text, err := engine.Transcribe(s.PCM)
//
// The package itself decodes WAV, at any common sample rate, width and channel count. It decodes
// other formats with ffmpeg, if that is installed. It detects the format from a file's content, and
// ignores the file name's extension. Errors give the position in the file, what was expected, what
// was found and what to do.
package audio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Rate is the sample rate of all samples that this package returns, in hertz.
const Rate = 16000

// Samples is decoded audio.
type Samples struct {
	PCM []float32 // mono at Rate, each in [-1, 1]; never empty

	// Missing is the length, in seconds, of audio that is missing at the end of a WAV file that was
	// cut off, according to its header. Missing is 0 if the file is whole, or if the header does
	// not give the length.
	Missing float64

	// SourceRate is the sample rate of the file in hertz, and SourceChannels the number of its
	// channels. Both are 0 if ffmpeg converted the file.
	SourceRate, SourceChannels int
}

// Seconds returns the length of the audio in seconds.
func (s Samples) Seconds() float64 { return float64(len(s.PCM)) / Rate }

// ReadFile decodes the audio file at path. It stops, and stops ffmpeg, when ctx is canceled.
//
// ReadFile takes memory for the result and for small buffers. The amount depends on the size of the
// file, not on the sizes in its header.
func ReadFile(ctx context.Context, path string) (Samples, error) {
	s, err := readFile(ctx, path)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return Samples{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func readFile(ctx context.Context, path string) (Samples, error) {
	f, err := os.Open(path)
	if err != nil {
		return Samples{}, withoutPath(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil {
		return Samples{}, withoutPath(err)
	} else if info.IsDir() {
		return Samples{},
			errors.New("expected an audio file, found a directory; name the files in it")
	}
	r := bufio.NewReaderSize(contextReader{ctx, f}, 1<<16)
	head, err := r.Peek(16)
	if err != nil && !errors.Is(err, io.EOF) {
		return Samples{}, withoutPath(err)
	}
	if len(head) == 0 {
		return Samples{},
			errors.New("byte 0: expected audio, found an empty file; write or copy it again")
	}
	if !isWAV(head) {
		return convert(ctx, path, "WAV", describe(head))
	}
	s, err := decodeWAV(r)
	if codec, ok := errors.AsType[*codecError](err); ok {
		return convert(ctx, path, "PCM or float samples", codec.found)
	}
	return s, err
}

// withoutPath removes the path from an error of package os, because ReadFile adds the path to all
// errors.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// contextReader fails once its context is canceled, so that a long file or a slow disk does not
// keep the caller waiting.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// isWAV reports whether a file that begins with head is a WAV file. RF64 and BW64 are WAV with
// 64-bit sizes (EBU Tech 3306, and ITU-R BS.2088).
func isWAV(head []byte) bool {
	if len(head) < 12 || string(head[8:12]) != "WAVE" {
		return false
	}
	id := string(head[:4])
	return id == "RIFF" || id == "RF64" || id == "BW64"
}

// describe guesses a file's format from its first bytes, for error messages.
func describe(head []byte) string {
	for _, f := range []struct {
		offset int
		magic  string
		name   string
	}{
		{0, "fLaC", "FLAC"},
		{0, "OggS", "Ogg (Vorbis or Opus)"},
		{0, "ID3", "MP3"},
		{4, "ftyp", "MP4 or M4A"},
		{0, "\x1a\x45\xdf\xa3", "Matroska or WebM"},
		{0, "FORM", "AIFF"},
		{0, "RIFX", "big-endian WAV"},
		{0, "RIFF", "RIFF that is not WAV"},
		{0, "#!AMR", "AMR"},
		{0, "caff", "Core Audio"},
		{0, "wvpk", "WavPack"},
		{0, "\x30\x26\xb2\x75", "WMA"},
	} {
		if len(head) >= f.offset && bytes.HasPrefix(head[f.offset:], []byte(f.magic)) {
			return f.name
		}
	}
	// An MPEG audio frame begins with eleven set bits. Two bits for the version and two bits for
	// the layer follow. The layer is never 0.
	if len(head) > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0 && head[1]&0x06 != 0 {
		return "MP3"
	}
	return fmt.Sprintf("an unknown format that begins with %q", head[:min(len(head), 8)])
}
