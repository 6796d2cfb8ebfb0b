package pipeline

import (
	"sync"
	"time"

	"vramsoak/parser/record"
)

// Times between two looks that miss little of what an engine holds: its buffers live for a model's
// run. A look at the C allocator takes some microseconds. NVML has the driver list the processes of
// the GPU, so it is asked less often.
const (
	WatchEvery    = 10 * time.Millisecond
	WatchGPUEvery = 100 * time.Millisecond
)

// Watch looks at the device every so often until stop is called, so that a checkpoint can say how
// much was handed out at most since the last one (peak=). Neither the C allocator nor NVML counts
// that, as PyTorch's allocator does: what was taken and given back between two looks is not in it.
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
		return // the next checkpoint says so
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checkpoints != since { // it may be of before the checkpoint, whose peak is told
		return
	}
	r.most = max(r.most, reading.Bytes(record.Allocated))
}

// takePeak is what was handed out at most since it was last asked, with what is now.
func (r *Runner) takePeak(now int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := max(r.most, now)
	r.most = now
	r.checkpoints++
	return most
}
