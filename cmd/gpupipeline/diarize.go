//go:build whisper

package main

import (
	"context"
	"math"

	"vramsoak/pipeline"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/speakers"
)

// diarize finds who speaks when. The waveform belongs to this stage: a pipeline on a GPU loads it
// onto the device for the stage, and frees it before the model.
func (w *work) diarize(ctx context.Context, pcm []float32) (turns []speakers.Turn, err error) {
	w.runner.Clear("before diarization")
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
			return refusal(err, w.ledger.onnxDevice(w.provider), 0)
		}
		model = loaded
		turns, err = model.Diarize(ctx)
		return refusal(err, w.ledger.onnxDevice(w.provider), 0)
	})
	return turns, err
}

// align adds speakers to the words and segments of a document, and names to the speakers' voices.
func (w *work) align(ctx context.Context, f pipeline.File, pcm []float32, d *document) error {
	return w.runner.Stage(ctx, "Speaker Alignment", func(ctx context.Context,
		s *pipeline.Scope,
	) error {
		if !w.noEnroll {
			if err := w.enroll(ctx, s, f, pcm, d); err != nil {
				return err
			}
		}
		d.Segments = speakers.Align(d.Segments, d.Turns)
		return nil
	})
}

// enroll loads the embedding model, unless nobody speaks, and recognizes the speakers with it. The
// model is freed with the scope.
func (w *work) enroll(ctx context.Context, s *pipeline.Scope, f pipeline.File, pcm []float32,
	d *document,
) error {
	held := s.Growth()
	var model embedder
	s.Defer("Alignment Tensors", held, func() error {
		if model == nil {
			return nil
		}
		return model.Close()
	})
	if len(d.Turns) == 0 {
		return nil
	}
	loaded, err := w.engines.embedder(ctx)
	if err != nil {
		return refusal(err, w.ledger.onnxDevice(w.provider), 0)
	}
	model = loaded
	return w.recognize(ctx, f, model, pcm, d)
}

// recognize computes embeddings of the speakers' voices. It compares them with those of earlier
// files to find the names that the speakers have there, because the diarization numbers the
// speakers of each file from the beginning.
func (w *work) recognize(ctx context.Context, f pipeline.File, model embedder, pcm []float32,
	d *document,
) error {
	turns, clips := clips(d.Turns, pcm)
	embeddings, err := w.runner.Enroll(ctx, pipeline.Enrollment{
		Batching: pipeline.Batching{
			Size: w.enrollBatch, Memory: w.batchMemory,
			ClearEvery: w.clearEvery,
		},
		Device: w.host,
		Alloc:  pipeline.HostTensor(w.host),
		Embed: func(ctx context.Context, clip []float32) ([]float32, error) {
			embedding, err := model.Embed(ctx, clip)
			return embedding, refusal(err, w.ledger.onnxDevice(w.provider), 0)
		},
		Fault: w.faults.At[f.Index],
	}, clips)
	if err != nil {
		return err
	}
	voices := map[string][][]float32{}
	for i, t := range turns {
		voices[t.Speaker] = append(voices[t.Speaker], embeddings[i])
	}
	names, err := w.voices.Name(voices)
	if err != nil {
		return err
	}
	for _, t := range d.Turns {
		if names[t.Speaker] == "" {
			names[t.Speaker] = unknownVoice // another voice may already use this label as its name
		}
	}
	d.Turns = speakers.Rename(d.Turns, names)
	return nil
}

// unknownVoice is the name of speakers who speak too little to be recognized.
const unknownVoice = "UNKNOWN"

// The lengths of the turns that are enrolled, in seconds. A shorter turn contains too little of a
// voice. Of a longer turn, the beginning suffices.
const shortestClip, longestClip = 0.1, 30.0

// clips returns the turns that are long enough, and the samples of each.
func clips(all []speakers.Turn, pcm []float32) (turns []speakers.Turn, clips [][]float32) {
	for _, t := range all {
		first := int(t.Start * audio.Rate)
		last := min(int(min(t.End, t.Start+longestClip)*audio.Rate), len(pcm))
		if last-first < int(math.Ceil(shortestClip*audio.Rate)) {
			continue
		}
		turns, clips = append(turns, t), append(clips, pcm[first:last])
	}
	return turns, clips
}
