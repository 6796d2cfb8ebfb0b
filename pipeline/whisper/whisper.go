//go:build whisper

package whisper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	binding "github.com/ggerganov/whisper.cpp/bindings/go/pkg/whisper"

	"vramsoak/pipeline/speakers"
)

// A Model is a loaded model with its compute buffers. It transcribes one audio at a time.
type Model struct{ model binding.Model }

// Options of a transcription.
type Options struct {
	// Language is the language of the audio, such as "en"; "auto" detects the language. A model
	// that knows only English accepts "en" and "auto".
	Language string
	Threads  int
}

// A Transcript is the result of a transcription.
type Transcript struct {
	Language string             `json:"language"`
	Segments []speakers.Segment `json:"segments"`
}

// Load reads a model in ggml format. Call [Init] first, and Close after use.
func Load(path string) (*Model, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	logError()
	model, err := binding.New(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, explain(err))
	}
	return &Model{model}, nil
}

// Close frees the model. Do not use it afterwards; closing it again does nothing.
func (m *Model) Close() error { return m.model.Close() }

// CheckLanguage returns an error if the model does not know the language.
func (m *Model) CheckLanguage(language string) error {
	_, err := m.context(language)
	return err
}

func (m *Model) context(language string) (binding.Context, error) {
	c, err := m.model.NewContext()
	if err != nil {
		return nil, err
	}
	switch {
	case m.model.IsMultilingual():
		if err := c.SetLanguage(language); err != nil {
			return nil, fmt.Errorf("expected a language that the model knows, such as en, or "+
				"auto, found %q", language)
		}
	case language != "en" && language != "auto":
		return nil, fmt.Errorf("expected en for a model that knows only English, found %q",
			language)
	}
	return c, nil
}

// Transcribe transcribes mono audio of 16 kHz. If ctx is canceled, Transcribe stops before the next
// 30 s of audio and returns the cause.
func (m *Model) Transcribe(ctx context.Context, pcm []float32, o Options) (Transcript, error) {
	if len(pcm) == 0 {
		return Transcript{}, errors.New("expected audio, found no samples")
	}
	c, err := m.context(o.Language)
	if err != nil {
		return Transcript{}, err
	}
	c.SetThreads(uint(o.Threads))
	c.SetTokenTimestamps(true) // otherwise only segments have times
	logError()
	goOn := func() bool { return ctx.Err() == nil }
	err = c.Process(pcm, goOn, nil, nil)
	// If ctx was canceled, whisper.cpp returns the segments so far without an error.
	if cause := context.Cause(ctx); cause != nil {
		return Transcript{}, cause
	} else if err != nil {
		return Transcript{}, explain(err)
	}
	t := Transcript{Language: "en", Segments: []speakers.Segment{}}
	if m.model.IsMultilingual() {
		t.Language = c.DetectedLanguage()
	}
	for {
		s, err := c.NextSegment()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return t, err
		}
		t.Segments = append(t.Segments, speakers.Segment{
			Start: s.Start.Seconds(), End: s.End.Seconds(), Text: strings.ToValidUTF8(s.Text,
				"\uFFFD"), Words: words(c, s),
		})
	}
}

// words returns the words of a segment. whisper.cpp spreads the tokens evenly over the time between
// the model's time stamps, and then moves them to times at which the audio is loud. A few tokens
// end up outside the segment; words moves them to the start or the end of the segment.
func words(c binding.Context, s binding.Segment) []speakers.Word {
	within := func(t time.Duration) float64 { return min(max(t, s.Start), s.End).Seconds() }
	var tokens []speakers.Token
	for _, t := range s.Tokens {
		if c.IsText(t) { // not a control token, such as a time or the end
			tokens = append(tokens, speakers.Token{
				Text: t.Text, Start: within(t.Start), End: within(t.End), Probability: float64(t.P),
			})
		}
	}
	return speakers.JoinTokens(tokens)
}
