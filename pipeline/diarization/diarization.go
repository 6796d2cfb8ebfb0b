package diarization

import (
	"errors"
	"fmt"
	"math"

	sherpa "github.com/k2-fsa/sherpa-onnx-go-linux"

	"vramsoak/pipeline/speakers"
)

// sampleRate is the sample rate of all audio here, in hertz.
const sampleRate = 16000

// Config configures a [Diarizer].
type Config struct {
	Segmentation string // path of the segmentation model
	Embedding    string // path of the embedding model
	Speakers     int    // number of speakers; 0 if unknown
	// Threshold is used if the number of speakers is unknown. It is the largest cosine distance,
	// from 0 to 2, between voices that count as one speaker. A larger threshold gives fewer
	// speakers. 0 means 0.5.
	Threshold float64
	Threads   int    // threads on the CPU; 0 means 1
	Provider  string // cpu or cuda; "" means cpu
}

func (c Config) inspect() (segmentation, embedding properties, err error) {
	segmentation, err1 := inspect(c.Segmentation, Segmentation)
	embedding, err2 := inspect(c.Embedding, Embedding)
	return segmentation, embedding, errors.Join(c.Validate(), err1, err2)
}

// Validate returns an error that names every mistake in the configuration. It does not check the
// models: see [Check] and [Try].
func (c Config) Validate() error {
	var errs []error
	if c.Speakers < 0 || c.Speakers > maxSpeakers {
		errs = append(errs, fmt.Errorf("speakers: expected 0 (not known) to %d, found %d",
			maxSpeakers, c.Speakers))
	}
	if !(c.Threshold >= 0 && c.Threshold <= 2) { // NaN fails too
		errs = append(errs, fmt.Errorf("threshold: expected a cosine distance of 0 to 2, found %g",
			c.Threshold))
	}
	return errors.Join(append(errs, c.Embedder().validate())...)
}

// maxSpeakers limits Config.Speakers. No recording has so many.
const maxSpeakers = 1000

// Embedder returns the configuration of an [Embedder] with the same embedding model.
func (c Config) Embedder() EmbedderConfig {
	return EmbedderConfig{Model: c.Embedding, Threads: c.Threads, Provider: c.Provider}
}

// A Diarizer is a segmentation model and an embedding model that are loaded. It diarizes one
// recording at a time.
type Diarizer struct {
	engine     *sherpa.OfflineSpeakerDiarization
	properties properties
	speakers   int
}

// The shortest turn and the shortest pause between turns of a speaker, in seconds: shorter turns
// are dropped, and shorter pauses become part of the turn. Both are sherpa-onnx's defaults.
const minTurn, minPause = 0.3, 0.5

// Open checks the models and loads them. Close the Diarizer after use.
func Open(c Config) (*Diarizer, error) {
	p, embedding, err := c.inspect()
	if err == nil {
		err = errors.Join(try(c.Segmentation, p), try(c.Embedding, embedding))
	}
	if err != nil {
		return nil, err
	}
	threads, provider := c.Embedder().defaults()
	threshold := c.Threshold
	if threshold == 0 {
		threshold = 0.5
	}
	config := &sherpa.OfflineSpeakerDiarizationConfig{
		Segmentation: sherpa.OfflineSpeakerSegmentationModelConfig{
			Pyannote:   sherpa.OfflineSpeakerSegmentationPyannoteModelConfig{Model: c.Segmentation},
			NumThreads: threads,
			Provider:   provider,
		},
		Embedding: sherpa.SpeakerEmbeddingExtractorConfig{
			Model:      c.Embedding,
			NumThreads: threads, Provider: provider,
		},
		Clustering: sherpa.FastClusteringConfig{
			NumClusters: clusters(c.Speakers),
			Threshold:   float32(threshold),
		},
		MinDurationOn:  minTurn,
		MinDurationOff: minPause,
	}
	engine := sherpa.NewOfflineSpeakerDiarization(config)
	if engine == nil {
		return nil, fmt.Errorf("sherpa-onnx does not load %s with %s; what it says is on stderr",
			c.Segmentation, c.Embedding)
	}
	return &Diarizer{engine, p, c.Speakers}, nil
}

// clusters returns the number of clusters to request from sherpa-onnx. For one speaker it returns
// 2, and the function turns later joins the two clusters. With a single cluster, sherpa-onnx
// 1.12.20 writes beyond an array when the segmentation hears two speakers at once (TopkIndex, fixed
// in its pull request 3628). If the number of speakers is unknown, clusters returns 0, and
// sherpa-onnx may still find a single cluster.
func clusters(speakers int) int {
	if speakers == 1 {
		return 2
	}
	return speakers
}

// Close frees the models. Do not use the Diarizer afterwards; closing it again does nothing.
func (d *Diarizer) Close() {
	if d.engine != nil {
		sherpa.DeleteOfflineSpeakerDiarization(d.engine)
		d.engine = nil
	}
}

// Diarize finds who speaks when in mono audio of 16 kHz with samples from -1 to 1. Turns are sorted
// by start and lie within the audio. Turns of different speakers may overlap. Speakers are named as
// in pyannote.audio, SPEAKER_00 and so on, in the order in which they are first heard.
//
// Memory and time grow with the square of the length, because the voices of all windows are
// compared with each other. Audio of many hours is refused: with pyannote's models, more than 4 h
// 17 min. Diarize cannot be stopped.
func (d *Diarizer) Diarize(samples []float32) ([]speakers.Turn, error) {
	if err := checkSamples(samples); err != nil {
		return nil, err
	}
	if longest := d.longest(); len(samples) > longest {
		return nil, fmt.Errorf("expected at most %.0f s of audio, found %.0f s; split the file",
			float64(longest)/sampleRate, seconds(len(samples)))
	}
	if len(samples) == 0 {
		return nil, nil
	}
	segments := d.engine.Process(d.pad(samples, 1))
	if d.speakers > 1 && len(samples) <= d.properties.window &&
		countSpeakers(segments) > d.speakers {
		// With a single window, sherpa-onnx ignores the requested number of speakers, because it clusters
		// speakers only if there are at least two windows.
		segments = d.engine.Process(d.pad(samples, 2))
	}
	return turns(segments, d.speakers == 1, seconds(len(samples))), nil
}

func seconds(samples int) float64 { return float64(samples) / sampleRate }

// shift returns the number of samples between the starts of two windows.
func (d *Diarizer) shift() int { return int(0.1 * float64(d.properties.window)) }

// longest returns the largest number of samples that can be diarized. sherpa-onnx counts the pairs
// of voices in 32 bits, with one voice for each speaker in each window.
func (d *Diarizer) longest() int {
	const voices = 46340 // 46341 x 46340 is more than 2^31 - 1
	windows := voices/d.properties.speakers - 1
	return min(d.properties.window+windows*d.shift(), math.MaxInt32/2)
}

// pad returns the samples followed by silence up to the end of a window, and up to the given number
// of windows at least.
//
// sherpa-onnx pads too, but ignores its padding when it computes embeddings. If a model hears a
// voice for ten frames in the padding and nowhere else, sherpa-onnx ends the process.
func (d *Diarizer) pad(samples []float32, windows int) []float32 {
	n := max(len(samples), d.properties.window+(windows-1)*d.shift())
	if rest := (n - d.properties.window) % d.shift(); rest > 0 {
		n += d.shift() - rest
	}
	if n == len(samples) {
		return samples
	}
	padded := make([]float32, n)
	copy(padded, samples)
	return padded
}

func countSpeakers(segments []sherpa.OfflineSpeakerDiarizationSegment) int {
	seen := map[int]bool{}
	for _, s := range segments {
		seen[s.Speaker] = true
	}
	return len(seen)
}

// turns converts the segments of sherpa-onnx, which are sorted by start, to turns. It cuts them at
// end, the end of the audio in seconds. If one is true, all turns are of one speaker.
func turns(segments []sherpa.OfflineSpeakerDiarizationSegment, one bool,
	end float64,
) []speakers.Turn {
	var list []speakers.Turn
	names := map[int]string{}
	for _, s := range segments {
		t := speakers.Turn{Start: max(0, milliseconds(s.Start)), End: min(milliseconds(s.End), end)}
		if t.Start >= t.End { // the segment lies after the audio's end
			continue
		}
		if one {
			s.Speaker = 0
			if n := len(list); n > 0 && t.Start < list[n-1].End+minPause {
				list[n-1].End = max(list[n-1].End, t.End)
				continue
			}
		}
		if names[s.Speaker] == "" {
			names[s.Speaker] = fmt.Sprintf("SPEAKER_%02d", len(names))
		}
		t.Speaker = names[s.Speaker]
		list = append(list, t)
	}
	return list
}

// milliseconds rounds a time in seconds to milliseconds. A model's frames are longer, and after an
// hour a float32 has no higher precision.
func milliseconds(t float32) float64 { return math.Round(float64(t)*1000) / 1000 }

// loudest is the largest sample that is accepted, far above the usual range of -1 to 1. The sum of
// squares of larger samples may not fit into a float32.
const loudest = 1000

// checkSamples refuses samples from which the models would compute infinities. Infinities make
// sherpa-onnx's clustering throw an exception, which ends the process.
func checkSamples(samples []float32) error {
	for i, v := range samples {
		if !(v >= -loudest && v <= loudest) {
			return fmt.Errorf(
				"sample %d (%.3f s): expected -1 to 1, found %g; decode the audio anew", i,
				seconds(i), v)
		}
	}
	return nil
}
