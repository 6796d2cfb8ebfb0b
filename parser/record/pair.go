package record

import "strings"

// A pairSide says whether a checkpoint is the Before or the After of a pair. A pair is two
// checkpoints around the same work, such as "Before Transcription" and "After Transcription". A
// pair around code that frees memory is a cleanup. Every other pair is a stage.
type pairSide int

const (
	noPair pairSide = iota
	sideBefore
	sideAfter
)

// splitPairName returns the side and the pair that a checkpoint's name gives. If the name gives no
// side, splitPairName returns noPair and the checkpoint's name. Each of these names is that of an
// After:
//
//	"After Transcription (post-cleanup)"  pair "Transcription"
//	"Training batch - After"              pair "Training batch"
//	"GPU memory after cleanup"            pair "GPU memory cleanup"
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
	rest = strings.TrimSpace(rest)
	if strings.Contains(rest, "  ") || strings.ContainsAny(rest, "\t\n\v\f\r") {
		rest = strings.Join(strings.Fields(rest), " ")
	}
	return kind, rest
}

// side returns the checkpoint's side and the name of its pair. A checkpoint that a timer or a
// step counter caused has no side, even if its name begins with Before or After.
func (c *Checkpoint) side() (pairSide, string) {
	if c.Sampled {
		return noPair, c.Name
	}
	return splitPairName(c.Name)
}

// InCleanup reports whether the checkpoint begins or ends a cleanup, according to its name. The
// log may lack the cleanup's other checkpoint.
func (c *Checkpoint) InCleanup() bool {
	kind, name := c.side()
	return kind != noPair && IsCleanup(name)
}

// Pair returns the name of the stage or cleanup that the checkpoint begins or ends. If the
// checkpoint does neither, begins and ends are false and name is the checkpoint's name.
func (c *Checkpoint) Pair() (name string, begins, ends bool) {
	kind, name := c.side()
	return name, kind == sideBefore, kind == sideAfter
}

// IsAfter reports whether the checkpoint ends a stage or a cleanup.
func (c *Checkpoint) IsAfter() bool {
	kind, _ := c.side()
	return kind == sideAfter
}

// IsCleanup reports whether a pair is a cleanup. The parameter name is the name of the pair. The
// name of a cleanup ends with "cleanup", in upper or lower case.
func IsCleanup(name string) bool {
	const word = "cleanup"
	return len(name) >= len(word) && strings.EqualFold(name[len(name)-len(word):], word)
}
