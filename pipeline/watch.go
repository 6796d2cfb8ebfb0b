package pipeline

import (
	"sync"
	"time"

	"vramsoak/parser"
)

// WatchEvery is a time between two looks that misses little of what an engine holds: its buffers live for a model's run.
// A look at the C allocator takes some microseconds.
const WatchEvery = 10 * time.Millisecond

// Watch looks at the device every so often until stop is called, so that a checkpoint can say how much was handed out at
// most since the last one (peak=). Neither the C allocator nor NVML counts that, as PyTorch's allocator does: what was
// taken and given back between two looks is not in it.
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
	reading, err := r.Device.Read()
	if err != nil {
		return // the next checkpoint says so
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = max(r.most, reading.Bytes(parser.Allocated))
}

// takePeak is what was handed out at most since it was last asked, with what is now.
func (r *Runner) takePeak(now int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := max(r.most, now)
	r.most = now
	return most
}
