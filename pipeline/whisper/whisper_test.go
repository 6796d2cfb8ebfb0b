//go:build whisper

package whisper

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// model is the path of the tiny model, which TestMain creates.
var model string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "whisper")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		model = filepath.Join(dir, "tiny.bin")
		if err := fixtures.WriteWhisperModel(model, 1); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func initHere(t *testing.T) []Device {
	t.Helper()
	devices, err := Init(false)
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// tone returns five seconds of a tone.
func tone() []float32 {
	pcm := make([]float32, 5*16000)
	for i := range pcm {
		pcm[i] = float32(0.3 * math.Sin(2*math.Pi*220*float64(i)/16000))
	}
	return pcm
}

func TestInitFindsDevices(t *testing.T) {
	devices := initHere(t)
	if len(devices) == 0 || devices[0].Name == "" {
		t.Errorf("found the devices %+v", devices)
	}
	if Version() == "" {
		t.Error("found no version")
	}
}

// TestTranscribeFreesItsMemory: after a real model was loaded, used and closed, all its memory is
// free again.
func TestTranscribeFreesItsMemory(t *testing.T) {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	initHere(t)
	allocated := func() int64 {
		r, err := host.Read()
		if err != nil {
			t.Fatal(err)
		}
		return r.Bytes(record.Allocated)
	}
	pcm := tone()
	for round := range 3 {
		before := allocated()
		m, err := Load(model)
		if err != nil {
			t.Fatal(err)
		}
		transcript, err := m.Transcribe(t.Context(), pcm, Options{Language: "en", Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if transcript.Language != "en" || len(transcript.Segments) == 0 {
			t.Errorf("found %+v", transcript)
		}
		for _, s := range transcript.Segments {
			if s.Start < 0 || s.End < s.Start || s.Text == "" || len(s.Words) == 0 {
				t.Errorf("bad segment %+v", s)
			}
			var said string
			for _, w := range s.Words {
				said += w.Text
				if w.Start < s.Start || w.End < w.Start || w.End > s.End || w.Probability <= 0 ||
					w.Probability > 1 {
					t.Errorf("bad word %+v in the segment from %g to %g s", w, s.Start, s.End)
				}
			}
			if strings.TrimSpace(said) != s.Text {
				t.Errorf("the words of %q are %q", s.Text, said)
			}
		}
		during := allocated()
		if during-before < 30<<20 {
			t.Errorf("round %d: a model of 30 MB takes %d bytes", round, during-before)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
		// The first round does not count: libraries allocate memory in it that they keep.
		if left := allocated() - before; left > 64<<10 {
			t.Errorf("round %d: %d of %d bytes were not freed", round, left, during-before)
		}
	}
}

func TestTranscribeStops(t *testing.T) {
	initHere(t)
	m, err := Load(model)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := m.Transcribe(ctx, tone(), Options{Language: "en", Threads: 1}); !errors.Is(
		err, why) {
		t.Errorf("canceled: found %v", err)
	}
	if _, err := m.Transcribe(t.Context(), nil, Options{Language: "en", Threads: 1}); err == nil {
		t.Error("no samples: expected an error")
	}
	if _, err := m.Transcribe(t.Context(), tone(), Options{
		Language: "de",
		Threads:  1,
	}); err == nil || !strings.Contains(err.Error(), "only English") {
		t.Errorf("German for an English model: found %v", err)
	}
}

func TestLoadSaysWhy(t *testing.T) {
	initHere(t)
	path := filepath.Join(t.TempDir(), "model.bin")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: found %v", err)
	}
	if err := os.WriteFile(path, []byte("RIFF, and no model at all"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(),
		"expected a model in ggml format") {
		t.Errorf("no model: found %v", err)
	}
}

func TestDeviceAlloc(t *testing.T) {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	devices := initHere(t)
	device := devices[len(devices)-1] // the CPU comes last
	before, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	const n = 8 << 20
	free, err := device.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	during, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	free()
	if grown := during.Bytes(record.Allocated) - before.Bytes(record.Allocated); !device.GPU &&
		grown < n {
		t.Errorf("%d bytes taken: the ledger grew by %d", n, grown)
	}
	if _, err := device.Alloc(1 << 60); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("more than the device has: found %v", err)
	}
}
