package pattern

import (
	"cmp"
	"slices"

	"vramsoak/parser"
)

// BusiestLane is the lane with the largest reading, and how many lanes the log has.
func BusiestLane(tl *parser.Timeline) (parser.Lane, int) {
	top := map[parser.Lane]int64{}
	var lanes []parser.Lane
	for _, c := range tl.All() {
		if _, known := top[c.Lane]; !known {
			lanes = append(lanes, c.Lane)
		}
		top[c.Lane] = max(top[c.Lane], c.Bytes(parser.Allocated), c.Bytes(parser.Reserved), c.Bytes(parser.Used))
	}
	if len(lanes) == 0 {
		return parser.Lane{}, 0
	}
	return slices.MaxFunc(lanes, func(a, b parser.Lane) int {
		return cmp.Compare(top[a], top[b])
	}), len(lanes)
}

// MainQuantity is the quantity that a lane is shown by: the first of allocated, device used and reserved that it has.
func MainQuantity(tl *parser.Timeline, lane parser.Lane) parser.Quantity {
	for _, q := range []parser.Quantity{parser.Allocated, parser.Used} {
		for _, c := range tl.All() {
			if _, ok := c.Get(q); ok && c.Lane == lane {
				return q
			}
		}
	}
	return parser.Reserved
}

// Total is the size of the lane's device, 0 where the log has none.
func Total(tl *parser.Timeline, lane parser.Lane) int64 {
	var total int64
	for _, c := range tl.All() {
		if c.Lane == lane {
			total = max(total, c.Bytes(parser.Total))
		}
	}
	for i := range tl.Samples {
		if tl.Samples[i].Lane.Device == lane.Device {
			total = max(total, tl.Samples[i].Bytes(parser.Total))
		}
	}
	return total
}
