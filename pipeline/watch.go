package pipeline

import (
	"sync"
	"time"

	"vramsoak/parser/record"
)

// Intervals between two readings. They are short enough to catch most of what an engine holds,
// since its buffers live as long as a run of the model. Reading the C allocator takes some
// microseconds; NVML makes the driver list the GPU's processes, so it is read less often.
const (
	WatchEvery    = 10 * time.Millisecond
	WatchGPUEvery = 100 * time.Millisecond
)

// Watch reads the device periodically until stop is called. A checkpoint can then log the most that
// was allocated since the one before (peak=). PyTorch's allocator counts its own peak; the C
// allocator and NVML do not. Memory that is allocated and freed between two readings is missed.
func (r *Runner) Watch(every time.Duration) (stop func()) {
	r.watched = true
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.look()
			}
		}
	})
	return func() {
		close(done)
		looking.Wait()
	}
}

func (r *Runner) look() {
	r.mu.Lock()
	since := r.checkpoints
	r.mu.Unlock()
	reading, err := r.Device.Read()
	if err != nil {
		return // the next checkpoint logs the error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checkpoints != since { // the reading may be from before a checkpoint that has logged it
		return
	}
	r.most = max(r.most, reading.Bytes(record.Allocated))
}

// takePeak returns the most that was allocated since it was last called, at least now.
func (r *Runner) takePeak(now int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := max(r.most, now)
	r.most = now
	r.checkpoints++
	return most
}
