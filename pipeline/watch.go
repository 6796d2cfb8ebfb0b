package pipeline

import (
	"sync"
	"time"

	"vramsoak/parser/record"
)

// How often Watch reads the device's memory. Most buffers of an engine live for a whole pass of the
// model, so these intervals are short enough to see the buffers. A reading of the C allocator takes
// some microseconds. A reading through NVML takes longer, because the driver lists the GPU's
// processes, and is therefore made less often.
const (
	WatchEvery    = 10 * time.Millisecond
	WatchGPUEvery = 100 * time.Millisecond
)

// Watch reads the device periodically until stop is called. Each checkpoint can then log the
// highest reading since the checkpoint before it (peak=). PyTorch's allocator counts its own peak;
// the C allocator and NVML do not. Watch misses memory that is allocated and freed between two
// readings.
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
	if r.checkpoints != since { // the reading may be older than the last checkpoint
		return
	}
	r.most = max(r.most, reading.Bytes(record.Allocated))
}

// takePeak returns the most bytes that were allocated since it was last called, and starts a new
// peak. now is the number of bytes allocated at this moment.
func (r *Runner) takePeak(now int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := max(r.most, now)
	r.most = now
	r.checkpoints++
	return most
}
