//go:build whisper

package main

import (
	"context"

	"vramsoak/pipeline"
	"vramsoak/pipeline/speakers"
)

// diarize finds who speaks when. The waveform is the stage's own, as a GPU pipeline loads it onto the device for this stage and
// drops it before the model.
func (w *work) diarize(ctx context.Context, pcm []float32) (turns []speakers.Turn, err error) {
	err = w.runner.Stage(ctx, "Diarization", func(ctx context.Context, s *pipeline.Scope) error {
		held := s.Growth()
		var model diarizer
		s.Defer("Diarization Model", held, func() error {
			if model == nil {
				return nil
			}
			return model.Close()
		})
		waveform, err := w.host.Alloc(4 * int64(len(pcm)))
		if err != nil {
			return err
		}
		s.Defer("Waveform", waveform.Len, func() error {
			waveform.Free()
			return nil
		})
		copy(waveform.Floats(), pcm)
		loaded, err := w.engines.diarizer(ctx, waveform.Floats())
		if err != nil {
			return w.ledger.outOfMemory(err, 0)
		}
		model = loaded
		turns, err = model.Diarize(ctx)
		return w.ledger.outOfMemory(err, 0)
	})
	return turns, err
}

// align gives the words and segments of a document their speakers.
func (w *work) align(ctx context.Context, d *document) error {
	return w.runner.Stage(ctx, "Speaker Alignment", func(_ context.Context, s *pipeline.Scope) error {
		held := s.Growth()
		s.Defer("Alignment Tensors", held, func() error { return nil })
		d.Segments = speakers.Align(d.Segments, d.Turns)
		return nil
	})
}
