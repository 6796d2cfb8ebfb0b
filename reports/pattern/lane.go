package pattern

import (
	"cmp"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// BusiestLane returns the lane with the largest reading, and the number of lanes.
func BusiestLane(tl *timeline.Timeline) (record.Lane, int) {
	top := map[record.Lane]int64{}
	var lanes []record.Lane
	for _, c := range tl.All() {
		if _, known := top[c.Lane]; !known {
			lanes = append(lanes, c.Lane)
		}
		top[c.Lane] = max(top[c.Lane], c.Bytes(record.Allocated), c.Bytes(record.Reserved),
			c.Bytes(record.Used))
	}
	if len(lanes) == 0 {
		return record.Lane{}, 0
	}
	return slices.MaxFunc(lanes, func(a, b record.Lane) int {
		return cmp.Compare(top[a], top[b])
	}), len(lanes)
}

// MainQuantity returns the quantity that reports show for a lane: the first of allocated, device
// used and reserved for which the lane has readings.
func MainQuantity(tl *timeline.Timeline, lane record.Lane) record.Quantity {
	for _, q := range []record.Quantity{record.Allocated, record.Used} {
		for _, c := range tl.All() {
			if _, ok := c.Get(q); ok && c.Lane == lane {
				return q
			}
		}
	}
	return record.Reserved
}

// Total returns the size of the lane's device in bytes, or 0 if the log does not give it.
func Total(tl *timeline.Timeline, lane record.Lane) int64 {
	var total int64
	for _, c := range tl.All() {
		if c.Lane == lane {
			total = max(total, c.Bytes(record.Total))
		}
	}
	for i := range tl.Samples {
		if tl.Samples[i].Lane.Device == lane.Device {
			total = max(total, tl.Samples[i].Bytes(record.Total))
		}
	}
	return total
}
