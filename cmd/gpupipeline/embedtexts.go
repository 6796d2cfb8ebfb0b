//go:build whisper

package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"

	"vramsoak/pipeline"
	"vramsoak/reports/sink"
)

// A textEmbedding has the embeddings of a document's segments.
type textEmbedding struct {
	Model     string `json:"model"` // the name of the model's file
	Dimension int    `json:"dimension"`
	// Segments has a vector of length 1 for each of the document's segments, in their order.
	Segments []vector `json:"segments"`
}

// A vector is an embedding. In JSON it is a string, because a list would take a line for each
// number: its numbers as 32-bit floats in little endian, in base64. In Python,
// numpy.frombuffer(base64.b64decode(s), "<f4") reads it.
type vector []float32

// MarshalText implements encoding.TextMarshaler.
func (v vector) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *vector) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("expected floats of 4 bytes, found %d bytes", len(raw))
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// embedTexts adds an embedding of each segment's text to the document. If memory runs out, the
// document says so and has no embeddings.
func (w *work) embedTexts(ctx context.Context, f pipeline.File, d *document) error {
	w.runner.Clear("before text embedding")
	result := &textEmbedding{Model: filepath.Base(w.text().Model), Segments: []vector{}}
	err := w.runner.Stage(ctx, "Text Embedding", func(ctx context.Context,
		s *pipeline.Scope,
	) error {
		embeddings, err := w.embedSegments(ctx, s, f, d)
		for _, e := range embeddings {
			result.Dimension = len(e)
			result.Segments = append(result.Segments, e)
		}
		return err
	})
	if err == nil {
		d.TextEmbedding = result
		return nil
	}
	if !w.runner.WithoutText(err) {
		return err
	}
	stderr.Printf("gpupipeline: file %d, %s: no text embeddings for want of memory: %s\n", f.Index,
		f.Path, sink.Error(err, f.Path))
	d.fallBack("no text embeddings for want of memory")
	return nil
}

// embedSegments loads the text model, unless nothing is said, and embeds the text of each segment.
// The model is freed with the scope.
func (w *work) embedSegments(ctx context.Context, s *pipeline.Scope, f pipeline.File,
	d *document,
) ([][]float32, error) {
	held := s.Growth()
	var model textEmbedder
	s.Defer("Text Embedder", held, func() error {
		if model == nil {
			return nil
		}
		return model.Close()
	})
	if len(d.Segments) == 0 {
		return nil, nil
	}
	device := w.ledger.onnxDevice("cpu")
	loaded, err := w.engines.textEmbedder(ctx)
	if err != nil {
		return nil, refusal(err, device, 0)
	}
	model = loaded
	texts := make([]string, len(d.Segments))
	for i, segment := range d.Segments {
		texts[i] = segment.Text
	}
	return w.runner.EmbedTexts(ctx, pipeline.TextEmbedding{
		Size: w.textBatch, ClearEvery: w.clearEvery,
		Device: w.host,
		Alloc:  pipeline.HostTensor(w.host),
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			embeddings, err := model.Embed(ctx, texts)
			return embeddings, refusal(err, device, 0)
		},
		Fault: w.faults.At[f.Index],
	}, texts)
}
