package pipeline

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// A busyDevice is a device whose memory the test changes while Watch reads it.
type busyDevice struct {
	mu sync.Mutex
	device
}

func (d *busyDevice) Read() (record.Reading, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.device.Read()
}

func (d *busyDevice) set(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allocated = n
}

// TestWatch: memory that is allocated and freed between two checkpoints counts in the peak of the
// second checkpoint. After each checkpoint a new peak begins.
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
			c := rec.(record.Checkpoint)
			peaks = append(peaks, c.Bytes(record.Peak))
		}
		if diff := cmp.Diff([]int64{10, 1010, 20}, peaks); diff != "" {
			t.Error(diff)
		}
	})
}

// A slowDevice calls a function between reading the memory and returning the result.
type slowDevice struct {
	*device
	meanwhile func()
}

func (d *slowDevice) Read() (record.Reading, error) {
	reading, err := d.device.Read()
	if f := d.meanwhile; f != nil {
		d.meanwhile = nil
		f()
	}
	return reading, err
}

// TestWatchDropsStaleReadings: a reading that begins before a checkpoint and ends after it does not
// count for the peak of the next checkpoint.
func TestWatchDropsStaleReadings(t *testing.T) {
	d := &slowDevice{device: &device{allocated: 1000, total: 1 << 40}}
	r, _ := newRunner(d.device)
	r.Device, r.watched = d, true
	d.meanwhile = func() {
		d.allocated = 10
		r.Checkpoint("After Whisper Cleanup")
	}
	r.look()
	if peak := r.takePeak(20); peak != 20 {
		t.Errorf("expected a peak of 20 bytes since the checkpoint, found %d", peak)
	}
}
