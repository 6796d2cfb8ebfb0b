package timeline

import "vramsoak/parser/record"

// allocatorCaches holds what the allocators of a process keep as a cache (see
// [record.Reading.Cache]) at the last checkpoint of each lane. A sample between two checkpoints
// gets the smaller cache of the two: the program did not need at least that much of the driver's
// figure.
type allocatorCaches struct{ lanes []laneCache }

// A laneCache is the cache of one lane.
type laneCache struct {
	lane   record.Lane
	cached int64
	from   int // index of the first sample after the checkpoint
}

// maxCacheLanes bounds the lanes. Lanes beyond it have no known cache.
const maxCacheLanes = 64

// add takes the next checkpoint. samples are the timeline's samples so far.
func (b *allocatorCaches) add(c *record.Checkpoint, samples []record.Sample) {
	cache, ok := c.Cache()
	if !ok {
		return
	}
	cached := cache.Low()
	for i := range b.lanes {
		l := &b.lanes[i]
		if l.lane != c.Lane {
			continue
		}
		for k := l.from; k < len(samples) && cached < l.cached; k++ {
			if s := &samples[k]; b.sameDevice(l.lane.Device, s.Lane.Device) {
				s.Cached = max(0, s.Cached-(l.cached-cached))
			}
		}
		l.cached, l.from = cached, len(samples)
		return
	}
	if len(b.lanes) < maxCacheLanes {
		b.lanes = append(b.lanes, laneCache{c.Lane, cached, len(samples)})
	}
}

// of returns the sum of the caches on a device, by the driver's number, at the last checkpoints.
func (b *allocatorCaches) of(device int) (cached int64) {
	for _, l := range b.lanes {
		if b.sameDevice(l.lane.Device, device) {
			cached += l.cached
		}
	}
	return cached
}

// sameDevice reports whether the driver's number of a lane's device is device. If all checkpoints
// are of one device, any number is its number. See [DriverLedgers.DeviceNumber].
func (b *allocatorCaches) sameDevice(lane, device int) bool {
	if lane == device {
		return true
	}
	for _, l := range b.lanes {
		if l.lane.Device != lane || l.lane.Device == device {
			return false
		}
	}
	return true
}
