package diarization

import (
	"os"
	"path/filepath"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/speakers"
)

// models is a folder with the tiny models, made once.
var models string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "diarization")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := fixtures.WriteDiarizationModels(dir, fixtures.DiarizationSpec{Seed: 1}); err != nil {
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

// batch writes audio files and reads them back.
func batch(t *testing.T, spec fixtures.AudioSpec) (fixtures.Manifest, [][]float32) {
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

// right is the share of the time, in frames of 10 ms, in which exactly those speak who should, with the speakers' names
// exchanged if that is better.
func right(t *testing.T, truth []fixtures.Turn, found []speakers.Turn, end float64) float64 {
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
					t.Errorf("%s of %.2f s, %d speakers given: right on %.1f %% of the time\nwant %v\ngot  %v", f.Path, f.Seconds, given, 100*share, f.Turns, turns)
				}
			}
		}
	}
}
