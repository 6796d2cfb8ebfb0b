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
		return s.begins(&r)
	}
	return false
}

func (s *Splitter) begins(c *Checkpoint) bool {
	switch {
	case s.named || c.Sampled:
		return false
	case s.first == nil:
		first := *c
		s.first = &first
		return true
	}
	return c.Name == s.first.Name && c.Lane == s.first.Lane
}
