package pipeline

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
)

// A busyDevice is read while it is filled.
type busyDevice struct {
	mu sync.Mutex
	device
}

func (d *busyDevice) Read() (parser.Reading, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.device.Read()
}

func (d *busyDevice) set(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allocated = n
}

// What was handed out and given back between two checkpoints is the peak of the second; the next one begins anew.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &busyDevice{device: device{allocated: 10, total: 1 << 40}}
		r, log := newRunner(&d.device)
		r.Device = d
		stop := r.Watch(WatchEvery)
		r.Checkpoint("A")
		d.set(1010)
		time.Sleep(2 * WatchEvery)
		d.set(20)
		r.Checkpoint("B")
		r.Checkpoint("C")
		stop()
		var peaks []int64
		for rec, err := range parser.Read(log, "log") {
			if err != nil {
				t.Fatal(err)
			}
			c := rec.(parser.Checkpoint)
			peaks = append(peaks, c.Bytes(parser.Peak))
		}
		if diff := cmp.Diff([]int64{10, 1010, 20}, peaks); diff != "" {
			t.Error(diff)
		}
	})
}
