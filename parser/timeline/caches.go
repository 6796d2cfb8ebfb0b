package timeline

import "vramsoak/parser/record"

// cachesBeside is how much the allocators of a process hold as a cache (see [record.Reading.Cache]), by
// the last checkpoint of each lane. A sample between two checkpoints gets the smaller cache of the
// two: at least that much of the driver's number was not needed.
type allocatorCaches struct{ lanes []laneCache }

// A laneCache is of one lane.
type laneCache struct {
	lane   record.Lane
	cached int64
	from   int // first sample that came after the checkpoint, as an index
}

// cacheLanesMax bounds the lanes. Beyond it nothing is known to be a cache.
const maxCacheLanes = 64

// checkpoint takes the next checkpoint. samples are those of the timeline so far.
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

// of returns the caches on a device, by the driver's number, at the last checkpoints.
func (b *allocatorCaches) of(device int) (cached int64) {
	for _, l := range b.lanes {
		if b.sameDevice(l.lane.Device, device) {
			cached += l.cached
		}
	}
	return cached
}

// are reports whether a lane's device is the one that the driver calls by a number: the device of
// that number, or any device if all checkpoints are of one. See [Beside.Device].
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
