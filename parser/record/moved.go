package record

// Several workers scan a log at the same time, each one a piece of the log. A worker cannot know
// how many lines come before its piece, so it counts lines from the beginning of the piece.
// Later, when all lines before the piece are counted, Moved adds the number of these lines to
// each record.

// Moved implements [Record].
func (r Checkpoint) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Change) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Event) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Warning) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r OutOfMemory) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Crash) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r RunStart) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r FileStart) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r FileEnd) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Sample) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Exit) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Orphan) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Idle) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Holder) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Resume) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r RunEnd) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r Quoted) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r SegmentMap) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}

// Moved implements [Record].
func (r SyntaxError) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}
