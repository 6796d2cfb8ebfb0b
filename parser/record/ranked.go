package record

// A Ranked record belongs to a rank. [Checkpoint] has a rank too, but the parser sets it in place.
type Ranked interface {
	Record
	// OfRank returns a copy of the record with the given rank, unless the record has a rank already.
	OfRank(rank int) Record
}

// setRank sets the rank of a lane that has none.
func (l *Lane) setRank(rank int) {
	if l.Rank == 0 {
		l.Rank = rank
	}
}

// OfRank implements [Ranked].
func (r Change) OfRank(rank int) Record {
	r.Lane.setRank(rank)
	return r
}

// OfRank implements [Ranked].
func (r Event) OfRank(rank int) Record {
	r.Lane.setRank(rank)
	return r
}

// OfRank implements [Ranked].
func (r OutOfMemory) OfRank(rank int) Record {
	r.Lane.setRank(rank)
	return r
}

// OfRank implements [Ranked].
func (r Crash) OfRank(rank int) Record {
	r.Lane.setRank(rank)
	return r
}

// OfRank implements [Ranked].
func (r SegmentMap) OfRank(rank int) Record {
	r.Lane.setRank(rank)
	return r
}
