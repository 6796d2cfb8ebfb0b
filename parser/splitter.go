package parser

// A Splitter finds where files begin in what a pipeline prints by itself: where it names a file, else where the file's
// first checkpoint recurs. The harness uses it while a pipeline runs, [Build] on a log without the harness's lines.
type Splitter struct {
	first *Checkpoint
	named bool
}

// Begins says whether a file begins with this record.
func (s *Splitter) Begins(rec Record) bool {
	switch r := rec.(type) {
	case FileStart:
		s.named = true
		return r.Pipeline
	case Checkpoint:
		if s.named {
			return false
		}
		if s.first == nil {
			s.first = &r
			return true
		}
		return r.Name == s.first.Name && r.Lane == s.first.Lane
	}
	return false
}
