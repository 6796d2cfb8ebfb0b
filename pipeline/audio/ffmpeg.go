package audio

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser/bounded"
)

// convert decodes a file with ffmpeg. If ffmpeg is missing, the error says why it is needed: it
// names the format that was expected, such as "WAV", and the format that was found.
func convert(ctx context.Context, path, expected, found string) (Samples, error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return Samples{}, fmt.Errorf("byte 0: expected %s, found %s, and ffmpeg is not in PATH; "+
			"install ffmpeg, or convert the file to WAV",
			expected, found)
	}
	// Without the prefix file:, ffmpeg would not treat paths such as "concat:a|b" and "-y" as
	// files.
	cmd := exec.CommandContext(ctx, program, "-nostdin", "-v", "error", "-i", "file:"+path,
		"-f", "f32le", "-ac", "1", "-ar", strconv.Itoa(Rate), "-")
	cmd.WaitDelay = 5 * time.Second // a child of ffmpeg must not keep the pipe open after a kill
	stderr := &bounded.Tail{Limit: 2048}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Samples{}, err
	}
	if err := cmd.Start(); err != nil {
		return Samples{}, fmt.Errorf("start ffmpeg: %w", err)
	}
	pcm, readErr := readFloats(stdout)
	if readErr != nil {
		_ = stdout.Close() // a broken pipe ends ffmpeg; otherwise Wait would never return
	}
	if err := cmd.Wait(); err != nil && readErr == nil {
		return Samples{}, fmt.Errorf("found %s, which ffmpeg could not read; write or copy it "+
			"again (%w: %s)", found, err, reason(stderr))
	}
	if readErr != nil {
		return Samples{}, fmt.Errorf("read from ffmpeg: %w", readErr)
	}
	if len(pcm) == 0 {
		return Samples{}, fmt.Errorf("found %s, in which ffmpeg found no audio; take it out of "+
			"the batch (%s)", found, reason(stderr))
	}
	return Samples{PCM: pcm}, nil
}

// readFloats reads little-endian float32 samples to the end and clips them to [-1, 1].
func readFloats(r io.Reader) ([]float32, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var pcm []float32
	var b [4]byte
	for {
		if _, err := io.ReadFull(in, b[:]); errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF) {
			return pcm, nil
		} else if err != nil {
			return nil, err
		}
		x := math.Float32frombits(binary.LittleEndian.Uint32(b[:]))
		if math.IsNaN(float64(x)) {
			return nil, errors.New("expected finite samples, found NaN")
		}
		pcm = append(pcm, max(-1, min(1, x)))
	}
}

// reason returns the reason for which ffmpeg failed, from the end of its stderr.
func reason(stderr *bounded.Tail) string {
	text := strings.Join(strings.Fields(stderr.String()), " ")
	if text == "" {
		return "it gave no reason"
	}
	return text
}
