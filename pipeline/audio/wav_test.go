package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// le returns values as little-endian bytes. Strings are taken as bytes.
func le(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

// format returns a plain fmt chunk.
func format(code, channels uint16, rate uint32, bits uint16) []byte {
	frame := channels * bits / 8
	return le("fmt ", uint32(16), code, channels, rate, rate*uint32(frame), frame, bits)
}

// extensible returns an extensible fmt chunk, with the code in the GUID at its end.
func extensible(code, channels uint16, rate uint32, bits uint16) []byte {
	frame := channels * bits / 8
	return le("fmt ", uint32(40), uint16(0xfffe), channels, rate, rate*uint32(frame), frame, bits,
		uint16(22), bits, uint32(0), code,
		"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71")
}

func data(samples ...any) []byte {
	b := le(samples...)
	return le("data", uint32(len(b)), b)
}

func riff(chunks ...[]byte) []byte {
	body := bytes.Join(chunks, nil)
	return le("RIFF", uint32(4+len(body)), "WAVE", body)
}

func TestDecodeWAV(t *testing.T) {
	mono16 := format(1, 1, 16000, 16)
	list := le("LIST", uint32(8), "INFOxxxx")
	half, quarter := int16(1<<14), int16(1<<13)
	tests := []struct {
		name string
		file []byte
		want []float32
	}{
		{"8-bit unsigned", riff(format(1, 1, 16000, 8), data("\x00\x80\xc0\xff")), []float32{
			-1, 0,
			0.5, 127. / 128,
		}},
		{"16-bit", riff(mono16, data("\x00\x80", "\x00\x40", "\xff\x7f")), []float32{
			-1, 0.5,
			32767. / 32768,
		}},
		{"24-bit", riff(format(1, 1, 16000, 24), data("\x00\x00\x80", "\x00\x00\xc0",
			"\x00\x00\x20")), []float32{-1, -0.5, 0.25}},
		{
			"32-bit", riff(format(1, 1, 16000, 32), data(int32(math.MinInt32), int32(1<<30))),
			[]float32{-1, 0.5},
		},
		{
			"32-bit float, clipped", riff(format(3, 1, 16000, 32), data(float32(0.25),
				float32(-3))),
			[]float32{0.25, -1},
		},
		{
			"64-bit float, clipped", riff(format(3, 1, 16000, 64), data(0.125, 1e300)),
			[]float32{0.125, 1},
		},
		{
			"extensible 24-bit", riff(extensible(1, 1, 16000, 24), data("\x00\x00\x40")),
			[]float32{0.5},
		},
		{
			"extensible float", riff(extensible(3, 1, 16000, 32), data(float32(-0.5))),
			[]float32{-0.5},
		},
		{
			"stereo mean", riff(format(1, 2, 16000, 16), data(half, -quarter, half, half)),
			[]float32{0.125, 0.5},
		},
		{"six channels", riff(format(1, 6, 16000, 16), data(half, half, half, int16(0), int16(0),
			int16(0))), []float32{0.25}},

		{"chunks before the data", riff(list, mono16, list, data(half)), []float32{0.5}},
		{"chunk after the data", riff(mono16, data(half), list), []float32{0.5}},
		{
			"odd chunk, padded", riff(mono16, le("note", uint32(3), "abc\x00"), data(half)),
			[]float32{0.5},
		},
		{
			"odd chunk, not padded", riff(mono16, le("note", uint32(3), "abc"), data(half)),
			[]float32{0.5},
		},
		{
			"fmt chunk of 18 bytes", riff(le("fmt ", uint32(18), mono16[8:], uint16(0)),
				data(half)),
			[]float32{0.5},
		},
		{"sizes of a stream to a pipe", le("RIFF", uint32(0xffffffff), "WAVE", mono16, "data",
			uint32(0xffffffff), half, half), []float32{0.5, 0.5}},
		{
			"sizes never filled in", le("RIFF", uint32(0), "WAVE", mono16, "data", uint32(0), half),
			[]float32{0.5},
		},
		{"sizes of a header written first", le("RIFF", uint32(36), "WAVE", mono16, "data",
			uint32(0), half), []float32{0.5}},
		{"data size beyond the end", le("RIFF", uint32(1<<31), "WAVE", mono16, "data",
			uint32(0xfffffff0), half), []float32{0.5}},
		{
			"last sample cut short", riff(mono16, le("data", uint32(4), half, "\x40")),
			[]float32{0.5},
		},
		{"last frame cut short", riff(format(1, 2, 16000, 16), le("data", uint32(8), half, half,
			half)), []float32{0.5}},
		{
			"RF64, with a chunk after the data", le("RF64", uint32(0xffffffff), "WAVE",
				"ds64", uint32(28), uint64(200), uint64(2), uint64(1), uint32(0), mono16, "data",
				uint32(0xffffffff), half, list),
			[]float32{0.5},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decodeWAV(bytes.NewReader(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.PCM); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
			// WAVSeconds must return the same length from the header alone. All cases have 16 kHz.
			if got, ok := WAVSeconds(saved(t, tt.file)); !ok || got != float64(len(tt.want))/16000 {
				t.Errorf("%g s (%v) by the header, want %d samples", got, ok, len(tt.want))
			}
		})
	}
}

func TestDecodeWAVSource(t *testing.T) {
	got, err := decodeWAV(bytes.NewReader(riff(format(1, 2, 48000, 16),
		data(make([]byte, 4*48000)))))
	if err != nil {
		t.Fatal(err)
	}
	if got.SourceRate != 48000 || got.SourceChannels != 2 || got.Seconds() != 1 {
		t.Errorf("got %d Hz, %d channels, %g s; want 48000, 2, 1", got.SourceRate,
			got.SourceChannels, got.Seconds())
	}
}

// TestDecodeWAVErrors checks offsets that were counted by hand. The RIFF header has 12 bytes, the
// header of a chunk 8 bytes, and the fields of a plain fmt chunk 16 bytes.
func TestDecodeWAVErrors(t *testing.T) {
	mono16 := format(1, 1, 16000, 16)
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "byte 0: expected a RIFF header, found the end of the file"},
		{
			"not WAV", []byte("RIFF0000AVI LIST"),
			`byte 0: expected RIFF....WAVE, found "RIFF0000AVI "`,
		},
		{"no chunks", riff(), "byte 12: expected a data chunk, found the end of the file"},
		{"no data", riff(mono16), "byte 36: expected a data chunk, found the end of the file"},
		{
			"data first", riff(data(int16(1)), mono16),
			"byte 12: expected a fmt chunk before the data, found none",
		},
		{
			"fmt too short", riff(le("fmt ", uint32(4), "abcd")),
			"byte 20: expected a fmt chunk of at least 16 bytes, found 4",
		},
		{
			"fmt cut short", riff(mono16[:12]),
			"byte 24: expected a fmt chunk, found the end of the file",
		},
		{
			"chunk past the end", riff(le("junk", uint32(100), "abcd")),
			"byte 24: expected a data chunk, found the end of the file 96 bytes before",
		},
		{
			"no channels", riff(format(1, 0, 16000, 16)),
			"byte 22: expected at least one channel, found 0",
		},
		{
			"rate", riff(format(1, 1, 4000, 16)),
			"byte 24: expected a sample rate of 8000 to 192000 Hz, found 4000",
		},
		{
			"frame size", riff(le("fmt ", uint32(16), uint16(1), uint16(2), uint32(16000),
				uint32(0), uint16(3), uint16(16))),
			"byte 32: expected 4 bytes for 2 channels of 16 bits, found 3",
		},
		{"A-law", riff(format(6, 1, 8000, 8)), "found 8-bit A-law; convert it with ffmpeg"},
		{"12-bit", riff(format(1, 1, 16000, 12)), "found 12-bit PCM"},
		{"unknown encoding", riff(format(0x1234, 1, 16000, 16)), "found 16-bit encoding 0x1234"},
		{
			"no samples", riff(mono16, data(), le("LIST", uint32(4), "INFO")),
			"byte 44: expected samples, found none",
		},
		{"less than a sample", riff(mono16, data("x")), "byte 45: expected samples, found none"},
		{
			"NaN", riff(format(3, 1, 16000, 32), data(float32(0), float32(math.NaN()))),
			"byte 48: expected a finite sample, found NaN",
		},
		{
			"infinities", riff(format(3, 2, 16000, 32), data(float32(math.Inf(1)),
				float32(math.Inf(-1)))),
			"byte 44: expected a finite sample, found NaN",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeWAV(bytes.NewReader(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestDecodeWAVLyingHeader: a header may give any size. The memory that decodeWAV takes depends on
// the number of bytes that really follow.
func TestDecodeWAVLyingHeader(t *testing.T) {
	file := le("RIFF", uint32(0xfffffff0), "WAVE", "junk", uint32(2), "ab",
		format(1, 1, 191999, 16),
		"data", uint32(0xffffff00), int16(1), int16(2))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := decodeWAV(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("decoding %d bytes allocated %d bytes, want less than 4 MiB", len(file), got)
	}
}

func FuzzDecodeWAV(f *testing.F) {
	f.Add(riff(format(1, 1, 16000, 16), data("\x00\x80", "\x00\x40")))
	f.Add(riff(format(1, 2, 44100, 24), data(make([]byte, 600))))
	f.Add(riff(extensible(3, 1, 8000, 32), data(float32(0.5), float32(-1))))
	f.Add(le("RIFF", uint32(0xffffffff), "WAVE", format(1, 1, 191999, 8), "data",
		uint32(0xffffffff), "abcdefgh"))
	f.Add(le("RF64", uint32(0xffffffff), "WAVE", "ds64", uint32(16), uint64(9), uint64(2),
		format(1, 1, 16000, 16), "data", uint32(0xffffffff), "abcd"))
	f.Add(riff(le("note", uint32(3), "abc"), format(6, 1, 8000, 8)))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := decodeWAV(bytes.NewReader(file))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "byte ") {
				t.Errorf("the error names no offset: %v", err)
			}
			return
		}
		// A file has at least one byte for each sample, and resampling from 8 kHz doubles the number of
		// samples.
		if n := len(s.PCM); n == 0 || n > 2*len(file) {
			t.Errorf("got %d samples from %d bytes, want at most 2 a byte", n, len(file))
		}
		for i, x := range s.PCM {
			if !(x >= -1 && x <= 1) {
				t.Fatalf("sample %d is %g, want -1 to 1", i, x)
			}
		}
	})
}
