//go:build whisper

package main

import (
	"context"

	"vramsoak/pipeline"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/whisper"
)

// work is what is done on each file.
type work struct {
	*options
	runner  *pipeline.Runner
	host    *meter.Host
	ledger  *ledger
	engines *engines
}

// file is one file's way through the pipeline. The samples lie in the C allocator's memory, where the ledger of a machine
// without a GPU sees them, as it would see a tensor.
func (w *work) file(ctx context.Context, file *pipeline.Scope, f pipeline.File) error {
	pcm := new(meter.Block)
	file.Defer("Final", pcm.Len, func() error {
		pcm.Free()
		return nil
	})
	if err := w.preprocess(ctx, f, pcm); err != nil {
		return err
	}
	transcript, err := w.transcribe(ctx, f, pcm.Floats())
	if err != nil {
		return err
	}
	d := &document{
		Path:     f.Path,
		Seconds:  audio.Samples{PCM: pcm.Floats()}.Seconds(),
		Language: transcript.Language,
		Segments: transcript.Segments,
	}
	if w.diarizes() {
		if d.Turns, err = w.diarize(ctx, pcm.Floats()); err != nil {
			return err
		}
		if err := w.align(ctx, d); err != nil {
			return err
		}
	}
	return d.write(w.out, w.formats)
}

func (w *work) preprocess(ctx context.Context, f pipeline.File, pcm *meter.Block) error {
	return w.runner.Stage(ctx, "Audio Preprocessing", func(ctx context.Context, _ *pipeline.Scope) error {
		samples, err := audio.ReadFile(ctx, f.Path)
		if err != nil {
			return err
		}
		block, err := w.host.Alloc(4 * int64(len(samples.PCM)))
		if err != nil {
			return err
		}
		*pcm = *block
		copy(pcm.Floats(), samples.PCM)
		if w.faults.Leak > 0 {
			return w.ledger.leak(w.faults.Leak)
		}
		return nil
	})
}

func (w *work) transcribe(ctx context.Context, f pipeline.File, pcm []float32) (t whisper.Transcript, err error) {
	err = w.runner.Stage(ctx, "Transcription", func(ctx context.Context, s *pipeline.Scope) error {
		held := s.Growth()
		model, err := w.engines.transcriber(ctx, pcm)
		if err != nil {
			return w.ledger.outOfMemory(err, 0)
		}
		s.Defer("Whisper", held, model.Close)
		switch fault := w.faults.At[f.Index]; fault {
		case pipeline.FaultOOM:
			return w.ledger.overdraw()
		case pipeline.FaultCrash, pipeline.FaultHang:
			return model.fail(ctx, fault)
		}
		t, err = model.Transcribe(ctx, whisper.Options{Language: w.language, Threads: w.threads})
		return w.ledger.outOfMemory(err, 0)
	})
	return t, err
}
