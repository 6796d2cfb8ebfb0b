package snapshot

// stack returns the stack in an object's "frames", or nil if the object has no frames.
func (d *decoder) stack(o object) (*Stack, error) {
	v, ok := o.get("frames")
	if !ok || v.kind() == none {
		return nil, nil
	}
	if v.kind() != list {
		return nil, d.wrong(o.at, o.what+`'s "frames" as a list`, v.kind().String())
	}
	items := d.of(v).items
	if len(items) == 0 {
		return nil, nil
	}
	c := d.of(v)
	switch {
	case c.made == claimed:
		return nil, d.wrong(c.at, o.what+`'s "frames" as a list of frames`, "a list of another kind")
	case c.made > 0:
		return d.stacks[c.made-1], nil
	}
	if err := d.allocate(len(items), pointerSize); err != nil {
		return nil, err
	}
	s := &Stack{Frames: make([]*Frame, len(items))}
	for i, item := range items {
		f, err := d.frameOf(item, d.of(v).at)
		if err != nil {
			return nil, err
		}
		s.Frames[i] = f
	}
	d.stacks = append(d.stacks, s)
	c.made = uint32(len(d.stacks))
	return s, nil
}

// frameOf returns the frame that the dict v describes. The parameter at is the offset in the file
// of the list that contains v.
func (d *decoder) frameOf(v value, at uint32) (*Frame, error) {
	if v.kind() != dict {
		return nil, d.wrong(at, "a frame as a dict", v.kind().String())
	}
	c := d.of(v)
	switch {
	case c.made == claimed:
		return nil, d.wrong(c.at, "a frame", "a dict of another kind")
	case c.made > 0:
		return d.frames[c.made-1], nil
	}
	o := d.open(v, "a frame")
	f := &Frame{Function: o.text("name"), File: o.text("filename"), Line: o.line("line")}
	d.frames = append(d.frames, f)
	c.made = uint32(len(d.frames))
	return f, nil
}
