package audio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes the test binary behave like ffmpeg if it is started under the name ffmpeg. The
// environment variable FAKE_FFMPEG selects the behaviour.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "ffmpeg" {
		os.Exit(m.Run())
	}
	input := os.Args[slices.Index(os.Args, "-i")+1]
	switch os.Getenv("FAKE_FFMPEG") {
	case "samples":
		_, _ = os.Stdout.Write(le(float32(0.5), float32(-2)))
	case "path":
		if !strings.HasPrefix(input, "file:") || os.Args[len(os.Args)-1] != "-" {
			os.Exit(1)
		}
		_, _ = os.Stdout.Write(le(float32(len(input)) / 1000))
	case "refuse":
		_, _ = os.Stderr.WriteString(strings.Repeat("noise ", 10000) + "\nInvalid data found\n")
		os.Exit(1)
	case "hang":
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

// fakeFFmpeg makes this test binary the only ffmpeg in PATH. It sets FAKE_FFMPEG to the value of
// what.
func fakeFFmpeg(t *testing.T, what string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "ffmpeg")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("FAKE_FFMPEG", what)
}

func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.mp3") // the extension must not matter
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFileWAV(t *testing.T) {
	path := write(t, riff(format(1, 1, 16000, 16), data(int16(1<<14))))
	got, err := ReadFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	want := Samples{PCM: []float32{0.5}, SourceRate: 16000, SourceChannels: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestReadFileErrors(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no ffmpeg
	const install = "and ffmpeg is not in PATH; install ffmpeg, or convert the file to WAV"
	tests := []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, ": byte 0: expected audio, found an empty file; write or copy it again"},
		{"FLAC", []byte("fLaC\x00\x00\x00\x22"), ": byte 0: expected WAV, found FLAC, " + install},
		{"MP3 frame", []byte("\xff\xfb\x90\x64"), ": byte 0: expected WAV, found MP3, " + install},
		{"M4A", []byte("\x00\x00\x00\x20ftypM4A "), ": byte 0: expected WAV, found MP4 or M4A, " +
			install},
		{
			"AVI", []byte("RIFF\x00\x00\x00\x00AVI LIST"),
			": byte 0: expected WAV, found RIFF that is not WAV, " + install,
		},
		{
			"text", []byte("hello, world"),
			`: byte 0: expected WAV, found an unknown format that begins with "hello, w", ` +
				install,
		},
		{
			"one byte",
			[]byte{0xff},
			`: byte 0: expected WAV, found an unknown format that begins with "\xff", ` + install,
		},
		{
			"A-law WAV", riff(format(6, 1, 8000, 8), data("abcd")),
			": byte 0: expected PCM or float samples, found 8-bit A-law, " + install,
		},
		{"cut short", riff(), ": byte 12: expected a data chunk, found the end of the file; " +
			"write or copy it again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.content)
			_, err := ReadFile(t.Context(), path)
			if err == nil || err.Error() != path+tt.want {
				t.Errorf("got error  %v\nwant error %s", err, path+tt.want)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		_, err := ReadFile(t.Context(), "no/such.wav")
		if want := "no/such.wav: open: no such file or directory"; err == nil ||
			err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		_, err := ReadFile(t.Context(), dir)
		if want := dir +
			": expected an audio file, found a directory; name the files in it"; err == nil ||
			err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
}

func TestReadFileThroughFFmpeg(t *testing.T) {
	for _, content := range [][]byte{[]byte("fLaC...."), riff(format(2, 1, 8000, 4),
		data("abcd"))} {
		fakeFFmpeg(t, "samples")
		got, err := ReadFile(t.Context(), write(t, content))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Samples{PCM: []float32{0.5, -1}}, got); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
	}
}

// TestFFmpegArguments: ffmpeg treats every path as the name of a file, even a path that looks like
// an option or a URL.
func TestFFmpegArguments(t *testing.T) {
	fakeFFmpeg(t, "path")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("-y", []byte("OggS"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(t.Context(), "-y")
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{float32(len("file:-y")) / 1000}; !slices.Equal(got.PCM, want) {
		t.Errorf("got %v, want %v", got.PCM, want)
	}
}

func TestFFmpegErrors(t *testing.T) {
	t.Run("refuses", func(t *testing.T) {
		fakeFFmpeg(t, "refuse")
		_, err := ReadFile(t.Context(), write(t, []byte("fLaC")))
		if err == nil || !strings.HasSuffix(err.Error(), "Invalid data found)") ||
			len(err.Error()) > 4096 {
			t.Errorf("got error %.300v, want a short one that ends in ffmpeg's reason", err)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		fakeFFmpeg(t, "nothing")
		_, err := ReadFile(t.Context(), write(t, []byte("fLaC")))
		if want := "found FLAC, in which ffmpeg found no audio; take it out of the batch (it " +
			"gave no reason)"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
	t.Run("hangs", func(t *testing.T) {
		fakeFFmpeg(t, "hang")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := ReadFile(ctx, write(t, []byte("fLaC"))); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got error %v, want the deadline", err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v after the deadline", took)
		}
	})
}

func TestReadFileCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the soak was interrupted")
	cancel(reason)
	if _, err := ReadFile(ctx, write(t, riff(format(1, 1, 16000, 16), data(int16(1))))); !errors.Is(
		err, reason) {
		t.Errorf("got error %v, want %v", err, reason)
	}
}
