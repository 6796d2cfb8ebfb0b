package pipeline

import (
	"context"
	"errors"
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// Batching says how large the batches of voice enrollment are.
type Batching struct {
	Size int // clips in a batch at most, 1 or more
	// Of the tensors' device that is free when the batch begins: what the batch's tensor may take.
	Memory     Share
	ClearEvery int // batches, over all files, after which the cache is cleared; 0: never
}

// A Tensor is memory of the device for a batch of clips: a row for each, as long as the longest,
// zeros behind the others.
type Tensor struct {
	Data []float32
	Free func()
}

// HostTensor takes tensors of a host: it is an [Enrollment]'s Alloc where there is no GPU.
func HostTensor(h *meter.Host) func(bytes int64) (Tensor, error) {
	return func(bytes int64) (Tensor, error) {
		block, err := h.Alloc(bytes)
		if err != nil {
			return Tensor{}, err
		}
		return Tensor{block.Floats(), block.Free}, nil
	}
}

// An Enrollment measures voices: clips of speech become embeddings.
//
// A batch is a tensor on the device. The engine is given one row of it after the other, for it
// takes no batches.
type Enrollment struct {
	Batching
	// Device is where the tensors lie. It need not be the runner's: an engine on the CPU is given
	// memory of the host.
	Device meter.Device
	// Alloc takes memory of the device, and Embed embeds a clip. What either cannot have memory for
	// is a [*meter.OutOfMemoryError].
	Alloc func(bytes int64) (Tensor, error)
	Embed func(ctx context.Context, clip []float32) ([]float32, error)
	// Fault, where FaultOOMBatch or FaultOOMItem, makes batches of more than one clip, or all, ask
	// for more than there is.
	Fault Fault
}

// Enroll embeds clips in batches. Where there is no memory for a batch it clears the cache and goes
// on with batches of half its clips, down to one. Where one does not fit either it gives up: the
// error has a [*meter.OutOfMemoryError], and the file goes on without its speakers; see
// [Runner.FastPath].
func (r *Runner) Enroll(ctx context.Context, e Enrollment,
	clips [][]float32,
) (embeddings [][]float32, err error) {
	if e.Size < 1 {
		return nil, fmt.Errorf("voice enrollment: expected batches of 1 clip or more, found %d",
			e.Size)
	}
	if len(clips) == 0 {
		return nil, nil
	}
	defer r.Clear("after voice enrollment")
	size := e.Size
	var refused *Situation
	for len(embeddings) < len(clips) {
		rest := clips[len(embeddings):]
		n, err := e.fit(rest[:min(size, len(rest))])
		if err != nil {
			return nil, fmt.Errorf("voice enrollment: %w", err)
		}
		done, err := e.batch(ctx, rest[:n])
		embeddings = append(embeddings, done...)
		oom, outOfMemory := errors.AsType[*meter.OutOfMemoryError](err)
		switch {
		case outOfMemory && n > 1:
			if refused == nil {
				refused = &Situation{Refused: oom, Clips: n}
			}
			refused.Fits = 0 // what fitted before this does not always
			size = n / 2
			r.Logf("WARNING: %v", oom)
			r.Logf("Attempting GPU recovery and retry with smaller batch: %d of %d clips", size, n)
			r.Clear("before a smaller batch")
		case err != nil:
			return nil, fmt.Errorf("voice enrollment: clip %d of %d: %w", len(embeddings)+1,
				len(clips), err)
		default:
			if refused != nil {
				refused.Fits = max(refused.Fits, n)
			}
			if e.ClearEvery > 0 && r.countBatch()%e.ClearEvery == 0 &&
				len(embeddings) < len(clips) {
				r.Clear(fmt.Sprintf("after %d batches of voice enrollment", e.ClearEvery))
			}
		}
	}
	if refused != nil {
		r.advise(*refused)
	}
	return embeddings, nil
}

// fit is how many of the clips, from the first on, go into a tensor of a share of the memory that
// is free now: one at least.
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

// batch embeds clips that lie in one tensor. Of a batch that fails it returns what it embedded
// before.
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

// countBatch counts the batches over all files.
func (r *Runner) countBatch() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
	return r.batches
}

// FastPath says whether err is for want of memory, so that a file can go on without its speakers.
// Then it logs what was refused, that the file takes the fast path, and what helps against it.
func (r *Runner) FastPath(err error) bool {
	oom, ok := errors.AsType[*meter.OutOfMemoryError](err)
	if !ok {
		return false
	}
	r.Logf("WARNING: %v", oom)
	r.Logf("Falling back to the fast path: no diarization for this file")
	r.Clear("before the fast path")
	r.advise(Situation{Refused: oom})
	return true
}
