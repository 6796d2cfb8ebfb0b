package diarization

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	sherpa "github.com/k2-fsa/sherpa-onnx-go-linux"

	"vramsoak/pipeline/onnx"
)

// EmbedderConfig configures an [Embedder].
type EmbedderConfig struct {
	Model    string // path of the embedding model
	Threads  int    // threads on the CPU; 0 means 1
	Provider string // cpu or cuda; "" means cpu
}

func (c EmbedderConfig) inspect() (properties, error) {
	p, err := inspect(c.Model, Embedding)
	return p, errors.Join(c.validate(), err)
}

// validate returns an error that names every mistake in the configuration. It does not check the
// model.
func (c EmbedderConfig) validate() error {
	var errs []error
	if c.Threads < 0 || c.Threads > maxThreads {
		errs = append(errs, fmt.Errorf("threads: expected 1 to %d, or 0 for 1, found %d",
			maxThreads, c.Threads))
	}
	_, provider := c.defaults()
	return errors.Join(append(errs, checkProvider(provider))...)
}

// checkProvider refuses providers that would end the process ("trt"). It also refuses providers for
// which sherpa-onnx would silently compute on the CPU: unknown names, and CUDA if the library was
// built without CUDA.
func checkProvider(provider string) error {
	switch provider {
	case "cpu":
		return nil
	case "cuda":
		// A build of the library for CUDA has its kernels in another file in the same folder.
		file := onnx.Library()
		const kernels = "libonnxruntime_providers_cuda.so"
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), kernels)); err != nil {
			return fmt.Errorf("provider cuda: expected an ONNX Runtime that is built for CUDA, "+
				"found %s without %s beside it; "+
				"build with SHERPA_PREFIX set to a GPU build of sherpa-onnx, or use the provider cpu",
				file, kernels)
		}
		return nil
	}
	return fmt.Errorf("provider: expected cpu or cuda, found %q", provider)
}

// maxThreads limits the number of threads. No machine has so many cores.
const maxThreads = 1024

func (c EmbedderConfig) defaults() (threads int, provider string) {
	provider = c.Provider
	if provider == "" {
		provider = "cpu"
	}
	return max(c.Threads, 1), provider
}

// An Embedder is a loaded embedding model. It embeds one voice at a time.
type Embedder struct {
	engine *sherpa.SpeakerEmbeddingExtractor
}

// OpenEmbedder checks the model and loads it. Close the Embedder after use.
func OpenEmbedder(c EmbedderConfig) (*Embedder, error) {
	p, err := c.inspect()
	if err == nil {
		err = try(c.Model, p)
	}
	if err != nil {
		return nil, err
	}
	threads, provider := c.defaults()
	engine := sherpa.NewSpeakerEmbeddingExtractor(
		&sherpa.SpeakerEmbeddingExtractorConfig{
			Model: c.Model, NumThreads: threads,
			Provider: provider,
		})
	if engine == nil {
		return nil, fmt.Errorf("sherpa-onnx does not load %s; what it says is on stderr", c.Model)
	}
	return &Embedder{engine}, nil
}

// Close frees the model. Do not use the Embedder afterwards; closing it again does nothing.
func (e *Embedder) Close() {
	if e.engine != nil {
		sherpa.DeleteSpeakerEmbeddingExtractor(e.engine)
		e.engine = nil
	}
}

// shortest is the smallest number of samples that Embed accepts: 0.1 s. Shorter audio contains
// hardly any voice, and sherpa-onnx computes no features from less than a frame (25 ms).
const shortest = sampleRate / 10

// Embed turns a voice into a vector. samples is mono audio of 16 kHz with samples from -1 to 1. The
// cosine of the angle between two vectors says how similar the voices are; the length of a vector
// means nothing.
func (e *Embedder) Embed(samples []float32) ([]float32, error) {
	if len(samples) < shortest {
		return nil, fmt.Errorf("expected at least %.1f s of a voice, found %.3f s",
			seconds(shortest), seconds(len(samples)))
	}
	if len(samples) > longestVoice {
		return nil, fmt.Errorf(
			"expected at most %.0f s of a voice, found %.0f s; take a part of it",
			seconds(longestVoice), seconds(len(samples)))
	}
	if err := checkSamples(samples); err != nil {
		return nil, err
	}
	stream := e.engine.CreateStream()
	defer sherpa.DeleteOnlineStream(stream)
	stream.AcceptWaveform(sampleRate, samples)
	stream.InputFinished()
	if !e.engine.IsReady(stream) {
		return nil, fmt.Errorf("%.3f s of audio give no features", seconds(len(samples)))
	}
	return e.engine.Compute(stream), nil
}

// longestVoice is the largest number of samples that Embed accepts, so that sherpa-onnx's sizes of
// features fit into 32 bits.
const longestVoice = 4 * 3600 * sampleRate
