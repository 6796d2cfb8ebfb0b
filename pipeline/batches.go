package pipeline

import (
	"context"
	"errors"
	"fmt"

	"vramsoak/pipeline/meter"
)

// batches say how to work on items in batches, and how the log names the work.
type batches struct {
	work, item string // "voice enrollment", "clip"
	flag       string // the flag that sets the size of a batch, for advice
	size       int    // at most this many items in a batch; at least 1
	clearEvery int    // clear the cache after this many batches, counted over all files; 0: never
	// fit returns how many of the n items from `from` on make the next batch; nil: all of them.
	fit func(from, n int) (int, error)
	// run works on the n items from `from` on. It returns how many of them are done, also if it fails.
	run func(ctx context.Context, from, n int) (done int, err error)
}

// inBatches works on all items in batches. If memory runs out, it releases cached memory and halves
// the batch, down to one item. If even one item does not fit, it returns a
// [*meter.OutOfMemoryError].
func (r *Runner) inBatches(ctx context.Context, b batches, items int) error {
	if b.size < 1 {
		return fmt.Errorf("%s: expected batches of 1 %s or more, found %d", b.work, b.item, b.size)
	}
	if items == 0 {
		return nil
	}
	defer r.Clear("after " + b.work)
	size := b.size
	var refused *Situation
	for done := 0; done < items; {
		n, err := min(size, items-done), error(nil)
		if b.fit != nil {
			if n, err = b.fit(done, n); err != nil {
				return fmt.Errorf("%s: %w", b.work, err)
			}
		}
		did, err := b.run(ctx, done, n)
		done += did
		oom, outOfMemory := errors.AsType[*meter.OutOfMemoryError](err)
		switch {
		case outOfMemory && n > 1:
			if refused == nil {
				refused = &Situation{Refused: oom, Items: n, Item: b.item, Flag: b.flag}
			}
			refused.Fits = 0 // a size that fitted before may not fit again
			size = n / 2
			r.Logf("WARNING: %v", oom)
			r.Logf("Attempting GPU recovery and retry with smaller batch: %d of %d %ss", size, n,
				b.item)
			r.Clear("before a smaller batch")
		case err != nil:
			return fmt.Errorf("%s: %s %d of %d: %w", b.work, b.item, done+1, items, err)
		default:
			if refused != nil {
				refused.Fits = max(refused.Fits, n)
			}
			if b.clearEvery > 0 && r.countBatch(b.work)%b.clearEvery == 0 && done < items {
				r.Clear(fmt.Sprintf("after %d batches of %s", b.clearEvery, b.work))
			}
		}
	}
	if refused != nil {
		r.advise(*refused)
	}
	return nil
}

// countBatch counts a batch of this work. It returns the number of batches so far, over all files.
func (r *Runner) countBatch(work string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.batches == nil {
		r.batches = map[string]int{}
	}
	r.batches[work]++
	return r.batches[work]
}

// FastPath reports whether err means that memory ran out. The caller can then process the file
// without speakers. If so, it logs the failed allocation, "Falling back to the fast path: no
// diarization for this file", and advice.
func (r *Runner) FastPath(err error) bool {
	return r.without(err, "Falling back to the fast path: no diarization for this file",
		"before the fast path")
}

// WithoutText reports whether err means that memory ran out. The caller can then process the file
// without embeddings of its text. If so, it logs the failed allocation, "Continuing without text
// embeddings for this file", and advice.
func (r *Runner) WithoutText(err error) bool {
	return r.without(err, "Continuing without text embeddings for this file",
		"before the result is written")
}

// without reports whether err means that memory ran out. If so, it logs the failed allocation, how
// the file goes on, and advice, and releases cached memory.
func (r *Runner) without(err error, goesOn, when string) bool {
	oom, ok := errors.AsType[*meter.OutOfMemoryError](err)
	if !ok {
		return false
	}
	r.Logf("WARNING: %v", oom)
	r.Logf("%s", goesOn)
	r.Clear(when)
	r.advise(Situation{Refused: oom})
	return true
}
