//go:build whisper

package main

// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vramsoak/pipeline"
	"vramsoak/pipeline/diarization"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/onnx"
	"vramsoak/pipeline/speakers"
	"vramsoak/pipeline/text"
	"vramsoak/pipeline/whisper"
)

// A transcriber transcribes audio with a model, in this process or in a worker.
type transcriber interface {
	Transcribe(ctx context.Context, o whisper.Options) (whisper.Transcript, error)
	// fail causes a fault in the process that transcribes, for tests.
	fail(ctx context.Context, fault pipeline.Fault) error
	Close() error
}

// A diarizer finds who speaks when, with models in this process or in a worker.
type diarizer interface {
	Diarize(ctx context.Context) ([]speakers.Turn, error)
	Close() error
}

// An embedder computes embeddings of voices, with a model in this process or in a worker.
type embedder interface {
	Embed(ctx context.Context, clip []float32) ([]float32, error)
	Close() error
}

// A textEmbedder computes embeddings of texts, with a model in this process or in a worker.
type textEmbedder interface {
	// Embed embeds the texts in one batch.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Close() error
}

// EngineSettings are the settings for loading engines. Each worker gets a copy.
type EngineSettings struct {
	Malloc      meter.Malloc
	Verbose     bool
	Model       string // the path of whisper.cpp's model
	Diarization diarization.Config
	Text        text.Config
	TextFlag    string // the flag that names the text model, for messages
	// Tried are the models in ONNX format that another process has tested already.
	Tried []onnx.Trial
}

// engines loads the engines. Each engine serves one stage of one file. If the stage is isolated,
// the engine runs in a worker, else in this process.
type engines struct {
	settings EngineSettings
	isolated map[string]bool // by the stage's name
	ledger   *ledger         // nil in a worker
	// tokenizer has the vocabulary of the text model. It is read once in each process.
	tokenizer *text.Tokenizer
}

// The stages that can be isolated. Enrollment belongs to diarization.
const (
	stageWhisper     = "whisper"
	stageDiarization = "diarization"
	stageText        = "text"
)

func newEngines(o *options, l *ledger) *engines {
	flag, _ := o.textFlag()
	e := &engines{
		settings: EngineSettings{
			Malloc: meter.Malloc(o.malloc), Verbose: o.verbose, Model: o.model,
			Diarization: o.diarization(), Text: o.text(), TextFlag: flag,
		},
		isolated: map[string]bool{},
		ledger:   l,
	}
	for _, stage := range o.isolate {
		e.isolated[stage] = true
	}
	return e
}

func (e *engines) transcriber(ctx context.Context, pcm []float32) (transcriber, error) {
	if e.isolated[stageWhisper] {
		w, err := e.worker(ctx, stageWhisper, "LoadWhisper", pcm)
		return remoteTranscriber{w}, err
	}
	model, err := whisper.Load(e.settings.Model)
	return localTranscriber{model, pcm}, err
}

func (e *engines) diarizer(ctx context.Context, pcm []float32) (diarizer, error) {
	if e.isolated[stageDiarization] {
		w, err := e.worker(ctx, stageDiarization, "LoadDiarizer", pcm)
		return remoteDiarizer{w}, err
	}
	models, err := diarization.Open(e.settings.Diarization)
	return localDiarizer{models, pcm}, err
}

func (e *engines) embedder(ctx context.Context) (embedder, error) {
	if e.isolated[stageDiarization] {
		w, err := e.worker(ctx, stageDiarization, "LoadEmbedder", nil)
		return remoteEmbedder{w}, err
	}
	model, err := diarization.OpenEmbedder(e.settings.Diarization.Embedder())
	return localEmbedder{model}, err
}

func (e *engines) textEmbedder(ctx context.Context) (textEmbedder, error) {
	if e.isolated[stageText] {
		w, err := e.worker(ctx, stageText, "LoadText", nil)
		return remoteTextEmbedder{w}, err
	}
	model, err := e.openText()
	return localTextEmbedder{model}, err
}

// openText loads the text model, and before the first time its vocabulary.
func (e *engines) openText() (*text.Embedder, error) {
	c := e.settings.Text
	if e.tokenizer == nil {
		tokenizer, err := text.ReadVocabulary(c.VocabularyPath())
		if err != nil {
			return nil, err
		}
		e.tokenizer = tokenizer
	}
	return text.Open(c, e.tokenizer)
}

// warmUp loads and frees each model before the first file, in the process where its stage will run.
// So a wrong model is reported before any work begins. There is a second reason: with its first
// model, an engine allocates memory that it keeps until the process ends (5 MB for ONNX Runtime).
// This memory should not count for the first file. If there is too little memory for a model,
// warmUp does not report that, because each file will.
func (e *engines) warmUp(ctx context.Context, o *options) error {
	errs := []error{e.warmWhisper(ctx, o.language)}
	if o.diarizes() {
		errs = append(errs, e.warmDiarization(ctx))
	}
	if o.embedsText() {
		errs = append(errs, e.warmText(ctx))
	}
	return errors.Join(slices.DeleteFunc(errs, outOfMemory)...)
}

func (e *engines) warmWhisper(ctx context.Context, language string) error {
	if e.isolated[stageWhisper] {
		_, err := e.warmWorker(ctx, stageWhisper, "WarmWhisper", language)
		return err
	}
	model, err := whisper.Load(e.settings.Model)
	if err != nil {
		return named("--model", err)
	}
	return errors.Join(named("--language", model.CheckLanguage(language)), model.Close())
}

func (e *engines) warmDiarization(ctx context.Context) (err error) {
	if e.isolated[stageDiarization] {
		e.settings.Tried, err = e.warmWorker(ctx, stageDiarization, "WarmDiarization", "")
		return err
	}
	d := e.settings.Diarization
	if err := errors.Join(named("--segmentation", diarization.Try(d.Segmentation,
		diarization.Segmentation)),
		named("--embedding", diarization.Try(d.Embedding, diarization.Embedding))); err != nil {
		return err
	}
	models, err := diarization.Open(d)
	if err != nil {
		return named("--segmentation, --embedding", err)
	}
	models.Close()
	return nil
}

func (e *engines) warmText(ctx context.Context) (err error) {
	if e.isolated[stageText] {
		e.settings.Tried, err = e.warmWorker(ctx, stageText, "WarmText", "")
		return err
	}
	model, err := e.openText()
	if err != nil {
		return named(e.settings.TextFlag, err)
	}
	model.Close()
	return nil
}

// warmWorker warms up in a worker and returns the models that the worker tested.
func (e *engines) warmWorker(ctx context.Context, stage, method,
	language string,
) (tried []onnx.Trial, err error) {
	w, err := startWorker(ctx, stage, e.ledger, nil)
	if err != nil {
		return nil, err
	}
	if err = w.call(ctx, "Open", e.settings, &None{}); err == nil {
		err = w.call(ctx, method, language, &tried)
	}
	return tried, errors.Join(err, w.Close())
}

// named adds the flag to an error about the flag's value.
func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// outOfMemory reports whether an engine's error means that memory ran out.
func outOfMemory(err error) bool {
	return errors.Is(err, whisper.ErrOutOfMemory) || errors.Is(err, onnx.ErrOutOfMemory) ||
		errors.Is(err, errWorkerOutOfMemory)
}

// worker starts a process for a stage and calls the method `load`, which loads the engine.
func (e *engines) worker(ctx context.Context, stage, load string, pcm []float32) (*worker, error) {
	w, err := startWorker(ctx, stage, e.ledger, pcm)
	if err != nil {
		return nil, err
	}
	err = w.call(ctx, "Open", e.settings, &None{})
	if err == nil {
		e.ledger.add(w)
		err = w.call(ctx, load, None{}, &None{})
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

type localTranscriber struct {
	*whisper.Model
	pcm []float32
}

func (l localTranscriber) Transcribe(ctx context.Context, o whisper.Options) (whisper.Transcript,
	error,
) {
	return l.Model.Transcribe(ctx, l.pcm, o)
}

func (localTranscriber) fail(ctx context.Context, fault pipeline.Fault) error {
	if fault == pipeline.FaultHang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	abort()
	return nil
}

// abort ends the process in the same way as a GGML_ASSERT that fails.
func abort() { C.abort() }

type remoteTranscriber struct{ *worker }

func (r remoteTranscriber) Transcribe(ctx context.Context, o whisper.Options) (t whisper.Transcript,
	err error,
) {
	err = r.call(ctx, "Transcribe", o, &t)
	return t, err
}

func (r remoteTranscriber) fail(ctx context.Context, fault pipeline.Fault) error {
	if fault == pipeline.FaultHang {
		return r.call(ctx, "Hang", None{}, &None{})
	}
	return r.call(ctx, "Crash", None{}, &None{})
}

type localDiarizer struct {
	*diarization.Diarizer
	pcm []float32
}

func (l localDiarizer) Diarize(context.Context) ([]speakers.Turn, error) {
	return l.Diarizer.Diarize(l.pcm)
}

func (l localDiarizer) Close() error {
	l.Diarizer.Close()
	return nil
}

type remoteDiarizer struct{ *worker }

func (r remoteDiarizer) Diarize(ctx context.Context) (turns []speakers.Turn, err error) {
	err = r.call(ctx, "Diarize", None{}, &turns)
	return turns, err
}

type localEmbedder struct{ *diarization.Embedder }

func (l localEmbedder) Embed(_ context.Context, clip []float32) ([]float32, error) {
	return l.Embedder.Embed(clip)
}

func (l localEmbedder) Close() error {
	l.Embedder.Close()
	return nil
}

type remoteEmbedder struct{ *worker }

func (r remoteEmbedder) Embed(ctx context.Context, clip []float32) (voice []float32, err error) {
	err = r.call(ctx, "Embed", bytesOf(clip), &voice)
	return voice, err
}

type localTextEmbedder struct{ *text.Embedder }

func (l localTextEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return l.Embedder.Embed(texts)
}

func (l localTextEmbedder) Close() error {
	l.Embedder.Close()
	return nil
}

type remoteTextEmbedder struct{ *worker }

func (r remoteTextEmbedder) Embed(ctx context.Context, texts []string) (embeddings [][]float32,
	err error,
) {
	err = r.call(ctx, "EmbedTexts", texts, &embeddings)
	return embeddings, err
}
