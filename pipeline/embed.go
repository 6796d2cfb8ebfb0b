package pipeline

import (
	"context"
	"errors"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// Batching says how many clips voice enrollment embeds at once.
type Batching struct {
	Size int // at most this many clips in a batch; at least 1
	// Memory is the part of the free device memory that the tensor of a batch may take. The memory
	// is measured when the batch begins.
	Memory     Share
	ClearEvery int // clear the cache after this many batches, counted over all files; 0: never
}

// A Tensor is device memory for a batch of clips. It has one row for each clip. Each row is as long
// as the longest clip, and the rows of shorter clips end with zeros.
type Tensor struct {
	Data []float32
	Free func()
}

// HostTensor returns a function for Enrollment.Alloc on a machine without a GPU: it allocates host
// memory.
func HostTensor(h *meter.Host) func(bytes int64) (Tensor, error) {
	return func(bytes int64) (Tensor, error) {
		block, err := h.Alloc(bytes)
		if err != nil {
			return Tensor{}, err
		}
		return Tensor{block.Floats(), block.Free}, nil
	}
}

// An Enrollment says how to compute the embedding of each clip of speech: a vector that is similar
// for clips of the same voice.
//
// The clips of a batch are the rows of one tensor on the device. The engine cannot embed a whole
// batch at once, so it gets the rows one by one.
type Enrollment struct {
	Batching
	// Device is the device that holds the tensors. It may differ from the runner's device: an
	// engine that runs on the CPU gets host memory.
	Device meter.Device
	// Alloc allocates a tensor on the device; Embed computes the embedding of one clip. Both return a
	// [*meter.OutOfMemoryError] if memory runs out.
	Alloc func(bytes int64) (Tensor, error)
	Embed func(ctx context.Context, clip []float32) ([]float32, error)
	// Fault makes batches request more memory than the device has, for tests: with FaultOOMBatch all
	// batches of more than one clip, with FaultOOMItem all batches.
	Fault Fault
}

// Enroll computes the embeddings of clips in batches. If memory runs out, it releases cached memory
// and halves the batch, down to one clip. If even one clip does not fit, it returns a
// [*meter.OutOfMemoryError]. The caller then processes the file without speakers; see
// [Runner.FastPath].
func (r *Runner) Enroll(ctx context.Context, e Enrollment,
	clips [][]float32,
) (embeddings [][]float32, err error) {
	b := batches{
		work: "voice enrollment", item: "clip", flag: "--enroll-batch",
		size: e.Size, clearEvery: e.ClearEvery,
		fit: func(from, n int) (int, error) { return e.fit(clips[from:][:n]) },
		run: func(ctx context.Context, from, n int) (int, error) {
			done, err := e.batch(ctx, clips[from:][:n])
			embeddings = append(embeddings, done...)
			return len(done), err
		},
	}
	if err := r.inBatches(ctx, b, len(clips)); err != nil {
		return nil, err
	}
	return embeddings, nil
}

// fit returns how many clips, from the first on, fit into a tensor of the size that Batching.Memory
// allows. It returns 1 even if no clip fits.
func (e Enrollment) fit(clips [][]float32) (int, error) {
	reading, err := e.Device.Read()
	if err != nil {
		return 0, err
	}
	room := e.Memory.Of(max(0, reading.Bytes(record.Total)-reading.Bytes(record.Allocated)))
	n := len(clips)
	for n > 1 && tensorBytes(clips[:n]) > room {
		n--
	}
	return n, nil
}

func tensorBytes(clips [][]float32) int64 {
	longest := 0
	for _, c := range clips {
		longest = max(longest, len(c))
	}
	return 4 * int64(len(clips)) * int64(longest)
}

// batch computes the embeddings of clips in one tensor. If it fails, it returns the error and the
// embeddings that it has computed so far.
func (e Enrollment) batch(ctx context.Context, clips [][]float32) (embeddings [][]float32,
	err error,
) {
	bytes := tensorBytes(clips)
	if bytes == 0 {
		return nil, errors.New("expected audio, found no samples")
	}
	if e.Fault == FaultOOMItem || e.Fault == FaultOOMBatch && len(clips) > 1 {
		reading, err := e.Device.Read()
		if err != nil {
			return nil, err
		}
		bytes += 2 * reading.Bytes(record.Total)
	}
	tensor, err := e.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	defer tensor.Free()
	width := int(bytes/4) / len(clips)
	clear(tensor.Data)
	for i, c := range clips {
		copy(tensor.Data[i*width:], c)
	}
	for i, c := range clips {
		if err := context.Cause(ctx); err != nil {
			return embeddings, err
		}
		if len(c) == 0 {
			return embeddings, errors.New("expected audio, found no samples")
		}
		embedding, err := e.Embed(ctx, tensor.Data[i*width:][:len(c)])
		if err != nil {
			return embeddings, err
		}
		embeddings = append(embeddings, embedding)
	}
	return embeddings, nil
}
