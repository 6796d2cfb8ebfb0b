package allocator

// Place limits the driver to these ranges of addresses for segments. A range is an address and a
// size in bytes, and the ranges are in the order of their addresses.
func (d *Device) Place(ranges ...[2]uint64) {
	d.holes = nil
	for _, r := range ranges {
		d.holes = append(d.holes, hole{r[0], r[1]})
	}
}
