package record

import (
	"strconv"
	"strings"
)

// A Ranked record belongs to a rank. [Checkpoint] has a rank too, but the parser sets it in place.
type Ranked interface {
	Record
	// OfRank returns a copy of the record with the given rank, unless the record has a rank
	// already.
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

// WriterRank returns the rank at the end of a process's name, as in "rank 3" and
// "pod/whisper-0/main rank 3", see [Header]. ok is false if the name has no rank.
func WriterRank(writer string) (rank int, ok bool) {
	const word = "rank "
	i := strings.LastIndex(writer, word)
	if i < 0 || i > 0 && writer[i-1] != ' ' {
		return 0, false
	}
	rank, err := strconv.Atoi(writer[i+len(word):])
	return max(0, rank), err == nil
}

// WithoutRank returns a process's name without the rank at its end.
func WithoutRank(writer string) string {
	if _, ranked := WriterRank(writer); !ranked {
		return writer
	}
	return strings.TrimSuffix(writer[:strings.LastIndex(writer, "rank ")], " ")
}

// ProcessOf returns the name of the process that printed a line: the writer that a wrapper or a
// logger gives, with the rank that the line itself gives. The rank 0 counts as none.
func ProcessOf(writer string, rank int) string {
	if named, ok := WriterRank(writer); rank == 0 || ok && named == rank {
		return writer
	}
	return strings.TrimSpace(WithoutRank(writer) + " rank " + strconv.Itoa(rank))
}
