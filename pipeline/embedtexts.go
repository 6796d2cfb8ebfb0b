package pipeline

import (
	"context"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A TextEmbedding says how to compute the embedding of each text of a file: a vector that is
// similar for texts of similar meaning.
type TextEmbedding struct {
	Size       int // at most this many texts in a batch; at least 1
	ClearEvery int // clear the cache after this many batches, counted over all files; 0: never
	// Embed computes the embeddings of a batch of texts. It returns a [*meter.OutOfMemoryError] if
	// memory runs out.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	// Device is the device on which Embed computes, and Alloc allocates memory on it. They are used
	// for Fault alone.
	Device meter.Device
	Alloc  func(bytes int64) (Tensor, error)
	// Fault makes batches request more memory than the device has, for tests: with FaultOOMTextBatch
	// all batches of more than one text, with FaultOOMTextItem all batches.
	Fault Fault
}

// EmbedTexts computes the embeddings of texts in batches. If memory runs out, it releases cached
// memory and halves the batch, down to one text. If even one text does not fit, it returns a
// [*meter.OutOfMemoryError]. The caller then processes the file without the embeddings; see
// [Runner.WithoutText].
func (r *Runner) EmbedTexts(ctx context.Context, e TextEmbedding, texts []string) (
	embeddings [][]float32, err error,
) {
	b := batches{
		work: "text embedding", item: "text", flag: "--text-batch",
		size: e.Size, clearEvery: e.ClearEvery,
		run: func(ctx context.Context, from, n int) (int, error) {
			done, err := e.batch(ctx, texts[from:][:n])
			embeddings = append(embeddings, done...)
			return len(done), err
		},
	}
	if err := r.inBatches(ctx, b, len(texts)); err != nil {
		return nil, err
	}
	return embeddings, nil
}

// batch computes the embeddings of a batch of texts.
func (e TextEmbedding) batch(ctx context.Context, texts []string) ([][]float32, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if e.Fault == FaultOOMTextItem || e.Fault == FaultOOMTextBatch && len(texts) > 1 {
		reading, err := e.Device.Read()
		if err != nil {
			return nil, err
		}
		tensor, err := e.Alloc(2 * reading.Bytes(record.Total))
		if err != nil {
			return nil, err
		}
		tensor.Free()
	}
	return e.Embed(ctx, texts)
}
