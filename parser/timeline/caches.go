package timeline

import "vramsoak/parser/record"

// allocatorCaches holds, for each lane, how much memory the allocator held as a cache (see
// [record.Reading.Cache]) at the lane's last checkpoint. A sample between two checkpoints gets
// the smaller of the two caches. The program certainly did not need this part of the memory that
// the driver counts.
type allocatorCaches struct{ lanes []laneCache }

// A laneCache is the size of the allocator's cache in one lane.
type laneCache struct {
	lane   record.Lane
	cached int64
	from   int // index of the first sample after the checkpoint
}

// maxCacheLanes is the most lanes whose caches are kept. Samples ignore the caches of further
// lanes.
const maxCacheLanes = 64

// add notes the cache at the next checkpoint. If the cache has become smaller, add lowers Cached of
// the samples since the lane's previous checkpoint. The parameter samples holds all samples of the
// timeline so far.
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

// of returns the sum of all caches on a device at the last checkpoints. The parameter device is
// the driver's number of the device.
func (b *allocatorCaches) of(device int) (cached int64) {
	for _, l := range b.lanes {
		if b.sameDevice(l.lane.Device, device) {
			cached += l.cached
		}
	}
	return cached
}

// sameDevice reports whether the device of a lane is the device with the driver's number
// `device`. If all checkpoints are of one device, every number matches, because a pipeline that
// selects its GPU numbers devices differently. See [DriverLedgers.DeviceNumber].
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
