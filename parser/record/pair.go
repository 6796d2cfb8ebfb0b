package record

import "strings"

// The two halves of a pair.
type pairSide int

const (
	noPair pairSide = iota
	sideBefore
	sideAfter
)

// pairName splits a checkpoint's name: "After Transcription (post-cleanup)" is the after of "Transcription", "Training batch -
// After" that of "Training batch", "GPU memory after cleanup" that of "GPU memory cleanup".
func splitPairName(name string) (pairSide, string) {
	word, rest, _ := strings.Cut(name, " ")
	if !strings.EqualFold(word, "before") && !strings.EqualFold(word, "after") {
		if i := strings.LastIndexByte(name, ' '); i > 0 {
			switch op, last := name[:i], name[i+1:]; {
			case strings.HasSuffix(op, " -"):
				word, rest = last, op[:len(op)-len(" -")]
			case IsCleanup(last):
				if i = strings.LastIndexByte(op, ' '); i > 0 {
					word, rest = op[i+1:], op[:i+1]+last
				}
			}
		}
	}
	var kind pairSide
	switch {
	case strings.EqualFold(word, "before"):
		kind = sideBefore
	case strings.EqualFold(word, "after"):
		kind = sideAfter
	default:
		return noPair, name
	}
	if open := strings.LastIndex(rest, " ("); open > 0 && strings.HasSuffix(rest, ")") {
		rest = rest[:open]
	}
	if rest = strings.TrimSpace(rest); strings.Contains(rest, "  ") || strings.ContainsAny(rest, "\t\n\v\f\r") {
		rest = strings.Join(strings.Fields(rest), " ")
	}
	return kind, rest
}

// Half is the checkpoint's half of a pair. One that was taken by the clock is none, whatever it is called.
func (c *Checkpoint) side() (pairSide, string) {
	if c.Sampled {
		return noPair, c.Name
	}
	return splitPairName(c.Name)
}

// OfCleanup says whether the checkpoint is a half of a cleanup's pair, be the other half there or not.
func (c *Checkpoint) InCleanup() bool {
	kind, name := c.side()
	return kind != noPair && IsCleanup(name)
}

// Pair is the name of the stage or cleanup that the checkpoint begins or ends, and which of them.
func (c *Checkpoint) Pair() (name string, begins, ends bool) {
	kind, name := c.side()
	return name, kind == sideBefore, kind == sideAfter
}

// IsAfter says whether the checkpoint is an After.
func (c *Checkpoint) IsAfter() bool {
	kind, _ := c.side()
	return kind == sideAfter
}

// IsCleanup reports whether a pair's name is that of a cleanup.
func IsCleanup(name string) bool {
	const word = "cleanup"
	return len(name) >= len(word) && strings.EqualFold(name[len(name)-len(word):], word)
}
