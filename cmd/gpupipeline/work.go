//go:build whisper

package main

import (
	"context"

	"vramsoak/pipeline"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/speakers"
	"vramsoak/pipeline/whisper"
	"vramsoak/reports/sink"
)

// work is what is done on each file.
type work struct {
	*options
	runner  *pipeline.Runner
	host    *meter.Host
	ledger  *ledger
	engines *engines
	voices  *speakers.Voices
	truth   *truth // nil without --truth
	known   int    // files that it has
	total   score
	// seconds of audio that the file in work has; 0 until it is read.
	seconds float64
}

// file is one file's way through the pipeline. The samples lie in the C allocator's memory, where
// the ledger of a machine without a GPU sees them, as it would see a tensor.
func (w *work) file(ctx context.Context, file *pipeline.Scope, f pipeline.File) error {
	if w.truth != nil && w.truth.knows(f.Path) {
		w.known++
	}
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
		Seconds:  w.seconds,
		Language: transcript.Language,
		Segments: transcript.Segments,
	}
	if w.diarizes() {
		if err := w.speakers(ctx, f, pcm.Floats(), d); err != nil {
			return err
		}
	}
	if w.truth != nil {
		if d.Truth = w.truth.score(d); d.Truth != nil {
			w.total.add(d.Truth)
			w.runner.Logf("INFO: %s", d.Truth)
		}
	}
	return d.write(w.out, w.formats)
}

// speakers finds who speaks when and gives it to the document. Where memory does not suffice for
// it, the document has no speakers, and says so.
func (w *work) speakers(ctx context.Context, f pipeline.File, pcm []float32,
	d *document,
) (err error) {
	if d.Turns, err = w.diarize(ctx, pcm); err != nil {
		if err = w.fastPath(f, d, err); err != nil {
			return err
		}
	}
	if err = w.align(ctx, f, pcm, d); err != nil {
		return w.fastPath(f, d, err)
	}
	return nil
}

// fastPath goes on without speakers after an error for want of memory; others it returns.
func (w *work) fastPath(f pipeline.File, d *document, err error) error {
	if !w.runner.FastPath(err) {
		return err
	}
	stderr.Printf("gpupipeline: file %d, %s: no diarization for want of memory: %s\n", f.Index,
		f.Path, sink.Error(err, f.Path))
	d.Turns, d.Fallback = nil, "fast path: no diarization for want of memory"
	return nil
}

func (w *work) preprocess(ctx context.Context, f pipeline.File, pcm *meter.Block) error {
	w.seconds = 0
	return w.runner.Stage(ctx, "Audio Preprocessing", func(ctx context.Context,
		_ *pipeline.Scope,
	) error {
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
		w.seconds = samples.Seconds()
		if samples.Missing > 0 {
			w.runner.Logf("WARNING: %s: the file ends %.1f s before its header says; what is "+
				"there is %.1f s: record or copy it again",
				f.Path, samples.Missing, w.seconds)
		}
		if w.faults.Leak > 0 {
			return w.ledger.leak(w.faults.Leak)
		}
		return nil
	})
}

func (w *work) transcribe(ctx context.Context, f pipeline.File,
	pcm []float32,
) (t whisper.Transcript, err error) {
	w.runner.Clear("before transcription")
	err = w.runner.Stage(ctx, "Transcription", func(ctx context.Context, s *pipeline.Scope) error {
		held := s.Growth()
		model, err := w.engines.transcriber(ctx, pcm)
		if err != nil {
			return refusal(err, w.ledger, 0)
		}
		s.Defer("Whisper", held, model.Close)
		switch fault := w.faults.At[f.Index]; fault {
		case pipeline.FaultOOM:
			return w.ledger.overdraw()
		case pipeline.FaultCrash, pipeline.FaultHang:
			return model.fail(ctx, fault)
		}
		t, err = model.Transcribe(ctx, whisper.Options{Language: w.language, Threads: w.threads})
		return refusal(err, w.ledger, 0)
	})
	return t, err
}

// describe adds to a shortage of memory what this pipeline knows of it.
func (w *work) describe(s *pipeline.Situation) {
	for _, model := range []string{"Whisper", "Diarization Model", "Alignment Tensors"} {
		s.Models = max(s.Models, s.Held[model])
	}
	s.Audio = s.Held["Waveform"] + s.Held["Final"]
	s.Seconds = w.seconds
	s.Isolated = len(w.isolate) > 0
}
