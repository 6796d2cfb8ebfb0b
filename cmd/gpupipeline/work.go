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

// A work holds everything that the work on a file needs.
type work struct {
	*options
	runner  *pipeline.Runner
	host    *meter.Host
	ledger  *ledger
	engines *engines
	voices  *speakers.Voices
	truth   *truth // nil without --truth
	known   int    // number of files that the truth contains
	total   score
	// seconds is the length of the current file's audio; 0 until it is read.
	seconds float64
}

// file takes one file through the pipeline. The audio samples are allocated by the C allocator. So
// a machine without a GPU counts them, just as a GPU counts a tensor.
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
	if w.embedsText() {
		if err := w.embedTexts(ctx, f, d); err != nil {
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

// speakers finds who speaks when and adds it to the document. If memory runs out, the document says
// so and has no speakers, unless the fast path is not allowed.
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

// fastPath drops the speakers and returns nil if err says that memory ran out and the fast path is
// allowed. It returns all other errors.
func (w *work) fastPath(f pipeline.File, d *document, err error) error {
	if !w.allowFastPath || !w.runner.FastPath(err) {
		return err
	}
	stderr.Printf("gpupipeline: file %d, %s: no diarization for want of memory: %s\n", f.Index,
		f.Path, sink.Error(err, f.Path))
	d.Turns = nil
	d.fallBack("fast path: no diarization for want of memory")
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

// describe adds to an out-of-memory situation the data that only this pipeline knows.
func (w *work) describe(s *pipeline.Situation) {
	for _, model := range []string{
		"Whisper", "Diarization Model", "Alignment Tensors", "Text Embedder",
	} {
		s.Models = max(s.Models, s.Held[model])
	}
	s.Audio = s.Held["Waveform"] + s.Held["Final"]
	s.Seconds = w.seconds
	s.Isolated = len(w.isolate) > 0
}
