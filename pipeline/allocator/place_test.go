package allocator

// Place leaves the driver these ranges of addresses, and no others, to put segments in: pairs of an
// address and a size, in the order of the addresses.
func (d *Device) Place(ranges ...[2]uint64) {
	d.holes = nil
	for _, r := range ranges {
		d.holes = append(d.holes, hole{r[0], r[1]})
	}
}
