package record

import "strings"

// The two halves of a pair.
type half int

const (
	neither half = iota
	Before
	After
)

// pairName splits a checkpoint's name: "After Transcription (post-cleanup)" is the after of "Transcription", "Training batch -
// After" that of "Training batch", "GPU memory after cleanup" that of "GPU memory cleanup".
func pairName(name string) (half, string) {
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
	var kind half
	switch {
	case strings.EqualFold(word, "before"):
		kind = Before
	case strings.EqualFold(word, "after"):
		kind = After
	default:
		return neither, name
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
func (c *Checkpoint) Half() (half, string) {
	if c.Sampled {
		return neither, c.Name
	}
	return pairName(c.Name)
}

// OfCleanup says whether the checkpoint is a half of a cleanup's pair, be the other half there or not.
func (c *Checkpoint) OfCleanup() bool {
	kind, name := c.Half()
	return kind != neither && IsCleanup(name)
}

// Pair is the name of the stage or cleanup that the checkpoint begins or ends, and which of them.
func (c *Checkpoint) Pair() (name string, begins, ends bool) {
	kind, name := c.Half()
	return name, kind == Before, kind == After
}

// IsAfter says whether the checkpoint is an After.
func (c *Checkpoint) IsAfter() bool {
	kind, _ := c.Half()
	return kind == After
}

// IsCleanup reports whether a pair's name is that of a cleanup.
func IsCleanup(name string) bool {
	const word = "cleanup"
	return len(name) >= len(word) && strings.EqualFold(name[len(name)-len(word):], word)
}
