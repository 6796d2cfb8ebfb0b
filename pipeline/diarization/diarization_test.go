package diarization

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/parser/record"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/onnx"
	"vramsoak/pipeline/speakers"
)

// models is a folder with the tiny models, which TestMain creates.
var models string

func TestMain(m *testing.M) {
	if os.Getenv(printLibrary) != "" {
		fmt.Print(onnx.Library())
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "diarization")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := fixtures.WriteDiarizationModels(dir,
			fixtures.DiarizationSpec{Seed: 1}); err != nil {
			panic(err)
		}
		models = dir
		return m.Run()
	}())
}

func config() Config {
	return Config{
		Segmentation: filepath.Join(models, fixtures.SegmentationName),
		Embedding:    filepath.Join(models, fixtures.EmbeddingName),
	}
}

func open(t *testing.T, c Config) *Diarizer {
	t.Helper()
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// batch writes audio files as spec describes them. It returns the manifest and the samples of each
// file.
func batch(t *testing.T, spec fixtures.AudioSpec) (audio.Manifest, [][]float32) {
	t.Helper()
	dir := t.TempDir()
	m, err := fixtures.WriteAudio(dir, spec)
	if err != nil {
		t.Fatal(err)
	}
	var files [][]float32
	for _, f := range m.Files {
		s, err := audio.ReadFile(t.Context(), filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, s.PCM)
	}
	return m, files
}

// right returns the part of the time, from 0 to 1, in which found has exactly the speakers of
// truth. It compares frames of 10 ms, and exchanges the names of the two speakers if this gives a
// larger part.
func right(t *testing.T, truth, found []speakers.Turn, end float64) float64 {
	t.Helper()
	names := map[string]string{}
	best := 0.0
	for _, order := range [][2]string{{"SPEAKER_00", "SPEAKER_01"}, {"SPEAKER_01", "SPEAKER_00"}} {
		names[fixtures.SpeakerA], names[fixtures.SpeakerB] = order[0], order[1]
		frames, ok := 0, 0
		for at := 0.005; at < end; at += 0.01 {
			want, got := "", ""
			for _, turn := range truth {
				if turn.Start <= at && at < turn.End {
					want = names[turn.Speaker]
				}
			}
			for _, turn := range found {
				if turn.Start <= at && at < turn.End {
					got += turn.Speaker
				}
			}
			frames++
			if want == got {
				ok++
			}
		}
		best = max(best, float64(ok)/float64(frames))
	}
	return best
}

func TestDiarizeHearsTheRightSpeakers(t *testing.T) {
	for _, given := range []int{0, 2} {
		d := open(t, func() Config { c := config(); c.Speakers = given; return c }())
		for _, spec := range []fixtures.AudioSpec{
			{Count: 8, MinSeconds: 3, MaxSeconds: 10, Seed: 1},
			{Count: 8, MinSeconds: 10, MaxSeconds: 20, Seed: 2},
			{Count: 3, MinSeconds: 30, MaxSeconds: 60, Seed: 3},
		} {
			m, files := batch(t, spec)
			for i, f := range m.Files {
				turns, err := d.Diarize(files[i])
				if err != nil {
					t.Fatal(err)
				}
				share := right(t, f.Turns, turns, f.Seconds)
				if share < 0.95 {
					t.Errorf("%s of %.2f s, %d speakers asked for: right %.1f %% of the time\n"+
						"want %v\ngot  %v", f.Path, f.Seconds, given, 100*share, f.Turns, turns)
				}
			}
		}
	}
}

func TestDiarizeOfLittle(t *testing.T) {
	d := open(t, config())
	_, voices := batch(t, fixtures.AudioSpec{Count: 1, MinSeconds: 4, MaxSeconds: 4, Seed: 1})
	voice := voices[0]
	for _, tt := range []struct {
		name    string
		samples []float32
	}{
		{"no samples", nil},
		{"one sample", make([]float32, 1)},
		{"10 ms", make([]float32, sampleRate/100)},
		{"10 ms of a voice", voice[sampleRate : sampleRate+sampleRate/100]},
		{"silence", make([]float32, 3*sampleRate)},
		{"silence of a window", make([]float32, 10*sampleRate)},
		{"silence of many windows", make([]float32, 25*sampleRate+1)},
	} {
		turns, err := d.Diarize(tt.samples)
		if err != nil || len(turns) != 0 {
			t.Errorf("%s: found %v, %v", tt.name, turns, err)
		}
	}
}

// TestTurnsLieWithinTheAudio: if a file is cut in the middle of a word, its turns end with the
// audio, at whichever place of a window the cut lies.
func TestTurnsLieWithinTheAudio(t *testing.T) {
	d := open(t, config())
	_, voices := batch(t, fixtures.AudioSpec{Count: 1, MinSeconds: 14, MaxSeconds: 14, Seed: 4})
	for _, n := range []int{
		8000, 9999, 40001, 159999, 160000, 160001, 160100, 175999, 176000,
		176001, 200123, 14 * sampleRate,
	} {
		turns, err := d.Diarize(voices[0][:n])
		if err != nil {
			t.Fatal(err)
		}
		if n > sampleRate && len(turns) == 0 {
			t.Errorf("%d samples: no turns", n)
		}
		last := 0.0
		for _, turn := range turns {
			if turn.Start < last || turn.End <= turn.Start || turn.End > seconds(n) {
				t.Errorf("%d samples: turn %+v after one that ends at %g s, in audio of %g s", n, turn, last,
					seconds(n))
			}
			last = turn.Start
		}
	}
}

// one returns the audio with silence where speaker B speaks.
func one(f audio.ManifestFile, samples []float32) []float32 {
	alone := append([]float32(nil), samples...)
	for _, turn := range f.Turns {
		if turn.Speaker == fixtures.SpeakerB {
			clear(alone[int(turn.Start*sampleRate):int(turn.End*sampleRate)])
		}
	}
	return alone
}

func TestDiarizeOneSpeaker(t *testing.T) {
	d := open(t, config())
	m, files := batch(t, fixtures.AudioSpec{Count: 2, MinSeconds: 8, MaxSeconds: 24, Seed: 5})
	for i, f := range m.Files {
		turns, err := d.Diarize(one(f, files[i]))
		if err != nil || len(turns) == 0 {
			t.Fatalf("found %v, %v", turns, err)
		}
		for _, turn := range turns {
			if turn.Speaker != "SPEAKER_00" {
				t.Errorf("%.2f s: found %+v", f.Seconds, turn)
			}
		}
	}
}

// TestSpeakersAreNotMoreThanAskedFor: if one speaker is requested, turns do not overlap, and pauses
// of less than half a second do not end a turn.
func TestSpeakersAreNotMoreThanAskedFor(t *testing.T) {
	c := config()
	c.Speakers = 1
	d := open(t, c)
	m, files := batch(t, fixtures.AudioSpec{Count: 2, MinSeconds: 8, MaxSeconds: 16, Seed: 5})
	for i, samples := range files {
		turns, err := d.Diarize(samples)
		if err != nil || len(turns) == 0 {
			t.Fatalf("found %v, %v", turns, err)
		}
		last := -minPause
		for _, turn := range turns {
			if turn.Speaker != "SPEAKER_00" || turn.Start < last+minPause {
				t.Errorf("found %+v after a turn that ends at %g s", turn, last)
			}
			last = turn.End
		}
		spoken := m.Files[i].Turns
		if end := spoken[len(spoken)-1].End; last < end-0.1 || last > end+0.1 {
			t.Errorf("the last turn ends at %g s, want %g", last, end)
		}
	}
}

// TestVoicesAtOnce: two voices speak at once, but only one speaker is requested or found. Frames
// then have two speakers, although there is only one cluster.
func TestVoicesAtOnce(t *testing.T) {
	_, files := batch(t, fixtures.AudioSpec{Count: 2, MinSeconds: 20, MaxSeconds: 20, Seed: 5})
	both := make([]float32, len(files[0]))
	for i := range both {
		both[i] = (files[0][i] + files[1][i]) / 2
	}
	for speakers := 1; speakers <= 2; speakers++ {
		c := config()
		c.Speakers = speakers
		turns, err := open(t, c).Diarize(both)
		if err != nil || len(turns) == 0 {
			t.Fatalf("found %v, %v", turns, err)
		}
		seen := map[string]bool{}
		for _, turn := range turns {
			seen[turn.Speaker] = true
		}
		if len(seen) != speakers {
			t.Errorf("%d speakers asked for, found %v", speakers, turns)
		}
	}
}

func TestDiarizeRefuses(t *testing.T) {
	d := open(t, config())
	for _, v := range []float32{
		float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), 32768,
	} {
		samples := make([]float32, sampleRate)
		samples[8000] = v
		if _, err := d.Diarize(samples); err == nil || !strings.Contains(err.Error(),
			"sample 8000 (0.500 s): expected -1 to 1, found") {
			t.Errorf("%g: found %v", v, err)
		}
	}
	// 15446 windows of 3 speakers have 46338 voices. More windows would have more pairs of voices
	// than 32 bits can count. The last window begins 15445 s after the first.
	if got := d.longest(); got != (10+15445)*sampleRate {
		t.Errorf("the longest audio has %d samples", got)
	}
}

func TestConfigNamesEveryMistake(t *testing.T) {
	c := Config{
		Segmentation: "none.onnx", Embedding: filepath.Join(models,
			fixtures.SegmentationName), Speakers: -1, Threshold: math.NaN(), Threads: -2,
		Provider: "trt",
	}
	_, err := Open(c)
	for _, want := range []string{
		"speakers: expected 0 (not known) to 1000, found -1",
		"threshold: expected a cosine distance of 0 to 2, found NaN",
		"threads: expected 1 to 1024, or 0 for 1, found -2",
		`provider: expected cpu or cuda, found "trt"`,
		"none.onnx", "metadata framework: expected",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, found %v", want, err)
		}
	}
	// The library that comes with the Go module has no CUDA. It would silently compute on the CPU.
	c = config()
	c.Provider = "cuda"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(),
		"libonnxruntime_providers_cuda.so") || !strings.Contains(err.Error(), "SHERPA_PREFIX") {
		t.Errorf("found %v", err)
	}
}

func TestEmbedTellsVoicesApart(t *testing.T) {
	e, err := OpenEmbedder(config().Embedder())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, files := batch(t, fixtures.AudioSpec{Count: 3, MinSeconds: 10, MaxSeconds: 20, Seed: 6})
	type voice struct {
		speaker   string
		embedding []float32
	}
	var voices []voice
	for i, f := range m.Files {
		for _, turn := range f.Turns {
			v, err := e.Embed(files[i][int(turn.Start*sampleRate):int(turn.End*sampleRate)])
			if err != nil || len(v) != 64 {
				t.Fatalf("found %d elements, %v", len(v), err)
			}
			voices = append(voices, voice{turn.Speaker, v})
		}
	}
	for i, a := range voices {
		for _, b := range voices[:i] {
			if c := cosine(a.embedding, b.embedding); (a.speaker == b.speaker) != (c > 0.5) {
				t.Errorf("%s and %s: cosine %.3f", a.speaker, b.speaker, c)
			}
		}
	}
	for _, samples := range [][]float32{nil, make([]float32, 1599), {float32(math.NaN())}} {
		if _, err := e.Embed(samples); err == nil {
			t.Errorf("%d samples: expected an error", len(samples))
		}
	}
	if v, err := e.Embed(make([]float32, 1600)); err != nil || len(v) != 64 {
		t.Errorf("0.1 s: found %v, %v", v, err)
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// TestCloseGivesTheMemoryBack opens and closes models many times. If Close did not free a model's
// weights of 8 MiB, the process would grow.
func TestCloseGivesTheMemoryBack(t *testing.T) {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	allocated := func() int64 {
		r, err := host.Read()
		if err != nil {
			t.Fatal(err)
		}
		return r.Bytes(record.Allocated)
	}
	dir := t.TempDir()
	const size = 8 << 20
	if err := fixtures.WriteDiarizationModels(dir, fixtures.DiarizationSpec{
		Seed:          1,
		EmbeddingSize: size,
	}); err != nil {
		t.Fatal(err)
	}
	c := Config{
		Segmentation: filepath.Join(dir, fixtures.SegmentationName),
		Embedding:    filepath.Join(dir, fixtures.EmbeddingName), Threads: 2,
	}
	_, files := batch(t, fixtures.AudioSpec{Count: 1, MinSeconds: 12, MaxSeconds: 12, Seed: 1})
	cycle := func() (held int64) {
		before := allocated()
		d, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Diarize(files[0]); err != nil {
			t.Fatal(err)
		}
		held = allocated() - before
		d.Close()
		d.Close()
		e, err := OpenEmbedder(c.Embedder())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Embed(files[0]); err != nil {
			t.Fatal(err)
		}
		e.Close()
		e.Close()
		return held
	}
	cycle() // in the first cycle, the libraries allocate about 5 MiB that they keep
	start := allocated()
	const cycles = 8
	for range cycles {
		if held := cycle(); held < size {
			t.Errorf("a model of %d bytes takes %d", size, held)
		}
	}
	if left := allocated() - start; left > cycles*64<<10 {
		t.Errorf("%d cycles left %d bytes", cycles, left)
	}
}
