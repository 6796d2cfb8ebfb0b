package table

import (
	"encoding/binary"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"vramsoak/parser/lex"
)

// A pattern finds the same matches in a line as [regexp.Regexp], and faster.
//
// Go's regexp reads about 100 MB/s, which is too slow for a log in which every line is a reading.
// The patterns of programs are simple: words, numbers, optional parts. A [machine] matches these on
// lines of ASCII. Regexp matches the rest: repeated groups, other characters, a line that takes the
// machine too long.
type pattern struct {
	names   []string // of the groups; names[0] is the whole match
	whole   int      // index of the group whole, see tornTree; -1 without it
	begins  bool     // the pattern has ^
	machine *machine // nil if the pattern needs regexp
	regexp  func() *regexp.Regexp
}

// groupWhole is the name of the group that [tornTree] puts at the end of a pattern.
const groupWhole = "whole"

var errBegun = errors.New("begun stands within another group, twice, or at the end")

// compile compiles a pattern. If keep is set, a torn line gives the readings before the tear.
func compile(text string, keep bool) (*pattern, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	re, err = tornTree(re, keep)
	if err != nil {
		return nil, err
	}
	p := &pattern{names: re.CapNames(), whole: slices.Index(re.CapNames(), groupWhole)}
	p.begins = hasBegin(re)
	p.regexp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re.String()) })
	p.machine = newMachine(re)
	return p, nil
}

// hasBegin reports whether a pattern has ^.
func hasBegin(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpBeginLine ||
		slices.ContainsFunc(re.Sub, hasBegin)
}

// tornTree makes the part of a pattern that follows the group begun optional. It puts an empty
// group with the name whole behind this part. So the group whole is missing in the match of a torn
// line. The pattern on the left becomes the one on the right, or the one below if keep is set:
//
//	a(?P<begun>)\d+ MB, \d+ MB    a(?P<begun>)(?:\d+ MB, \d+ MB(?P<whole>))?
//	                              a(?P<begun>)(?:\d+ MB(?:, \d+ MB(?P<whole>))?)?
//
// With keep, the readings before the tear count, see [readingsOf].
func tornTree(re *syntax.Regexp, keep bool) (*syntax.Regexp, error) {
	if !slices.Contains(re.CapNames(), groupBegun) {
		return re, nil
	}
	begun := -1
	if re.Op == syntax.OpConcat {
		begun = slices.IndexFunc(
			re.Sub,
			func(s *syntax.Regexp) bool { return s.Op == syntax.OpCapture && s.Name == groupBegun },
		)
	}
	if begun < 0 || begun == len(re.Sub)-1 {
		return nil, errBegun
	}
	tail := re.Sub[begun+1:]
	parts := [][]*syntax.Regexp{tail}
	if keep {
		parts = readingsOf(tail)
	}
	last := &syntax.Regexp{
		Op:   syntax.OpCapture,
		Cap:  re.MaxCap() + 1,
		Name: groupWhole,
		Sub:  []*syntax.Regexp{{Op: syntax.OpEmptyMatch}},
	}
	for _, part := range slices.Backward(parts) {
		all := &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: append(slices.Clone(part), last)}
		last = &syntax.Regexp{
			Op:    syntax.OpQuest,
			Flags: re.Flags &^ syntax.NonGreedy,
			Sub:   []*syntax.Regexp{all},
		}
	}
	return &syntax.Regexp{
		Op:    syntax.OpConcat,
		Flags: re.Flags,
		Sub:   append(slices.Clone(re.Sub[:begun+1]), last),
	}, nil
}

// readingsOf cuts the parts of a pattern into pieces. A torn line has the first of these pieces and
// lacks the others. A tear may take the last digits of a number. So the piece with a number goes on
// behind it, to a unit, or to a character that is not of the number: "7612.5 |".
func readingsOf(parts []*syntax.Regexp) (pieces [][]*syntax.Regexp) {
	var piece []*syntax.Regexp
	for _, part := range parts {
		switch {
		case len(piece) == 0, part.Op != syntax.OpLiteral && !endsNumber(part):
			piece = append(piece, part)
			continue
		case part.Op != syntax.OpLiteral:
			pieces, piece = append(pieces, append(piece, part)), nil
			continue
		}
		end, rest := *part, *part
		n := endOfNumber(part.Rune)
		end.Rune, rest.Rune = part.Rune[:n], part.Rune[n:]
		if pieces, piece = append(pieces, append(piece, &end)), nil; n < len(part.Rune) {
			piece = append(piece, &rest)
		}
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	}
	return pieces
}

// endOfNumber returns the length of the beginning of a literal that shows that the number before it
// is whole: a unit or one character.
func endOfNumber(literal []rune) int {
	text := []byte(string(literal))
	unit, rest := lex.CutUnit(text)
	switch {
	case unit > 0:
		return len(text) - len(rest) // in characters too, because a unit is of ASCII
	case strings.ContainsRune("0123456789.e", literal[0]):
		return len(literal) // the number goes on
	}
	return 1
}

// endsNumber reports whether a part such as [", ]+ matches at least one character, and none of a
// number.
func endsNumber(part *syntax.Regexp) bool {
	if part.Op != syntax.OpPlus {
		return false
	}
	set, ok := setOf(part.Sub[0])
	ofNumber := func(c rune) bool { return set[c] }
	return ok && set != nil && !strings.ContainsFunc("0123456789.", ofNumber)
}

// A finder yields the matches of a pattern in a line.
type finder struct {
	*pattern
	walk
	from  int                // the next match begins here or later
	end   int                // the end of the last match, or -1
	found [][]int            // the matches that regexp found
	slow  bool               // regexp finds the matches, not the machine
	room  [2 * groupsMax]int // memory for slots
}

// A loggedFinder yields the matches of a pattern in a line that may have the prefix of a logger. ^
// matches behind this prefix. If the pattern matches nothing there, ^ matches at the line's
// beginning, for a pattern that has the prefix itself.
type loggedFinder struct {
	finder
	line   []byte
	prefix int  // length of the logger's prefix that the finder passes over
	any    bool // the pattern has matched
}

// begin makes f the finder of the matches of p in a line. The function logger returns the length of
// the logger's prefix.
func (f *loggedFinder) begin(p *pattern, line []byte, logger func() int) {
	f.line, f.prefix, f.any = line, 0, false
	if p.begins {
		f.prefix = logger()
	}
	f.finder.begin(p, line[f.prefix:])
}

// next goes to the next match, and reports whether there is one. The slots are offsets in the whole
// line.
func (f *loggedFinder) next() bool {
	if f.finder.next() {
		f.any = true
		for i := range f.slots {
			if f.slots[i] >= 0 {
				f.slots[i] += f.prefix
			}
		}
		return true
	}
	if f.prefix == 0 || f.any {
		return false
	}
	f.prefix = 0
	f.finder.begin(f.pattern, f.line)
	return f.next()
}

// groupsMax is the most groups that a pattern may have. The whole match counts as one.
const groupsMax = 24

// A machine of fewer than stepNodes nodes may take stepsMin steps, and stepsPerByte more for each
// byte of a line. A step of a larger machine takes longer, so a larger machine may take fewer. Each
// stepBytes bytes of a run count as one step.
const (
	stepsMin     = 4096
	stepsPerByte = 32
	stepBytes    = 16
	stepNodes    = 100
)

// begin makes f the finder of the matches of p in a line. [finder.next] goes to the first match.
func (f *finder) begin(p *pattern, text []byte) {
	f.pattern, f.from, f.end, f.found = p, 0, -1, nil
	f.walk.machine, f.text = p.machine, text
	f.slots = f.room[:2*len(p.names)]
	if f.slow = p.machine == nil || !isASCII(text); f.slow {
		f.found = p.regexp().FindAllSubmatchIndex(text, -1)
		return
	}
	f.left = stepsMin + stepsPerByte*len(text)
	if n := len(p.machine.nodes); n >= stepNodes {
		f.left /= n / stepNodes
	}
}

// next goes to the next match behind the last one, and reports whether there is one.
func (f *finder) next() bool {
	if !f.slow {
		for f.from <= len(f.text) {
			found, done := f.find(f.from)
			if !done {
				break
			}
			if !found {
				return false
			}
			empty := f.slots[0] == f.slots[1]
			again := empty && f.slots[0] == f.end // regexp drops an empty match behind another match
			f.from, f.end = f.slots[1], f.slots[1]
			if empty {
				f.from++
			}
			if !again {
				return true
			}
		}
		if f.from > len(f.text) {
			return false
		}
		// Regexp gets the whole text, because ^ and \b depend on the text before a match.
		f.slow, f.found = true, f.regexp().FindAllSubmatchIndex(f.text, -1)
	}
	for len(f.found) > 0 {
		m := f.found[0]
		f.found = f.found[1:]
		if m[0] >= f.from {
			copy(f.slots, m)
			f.from = m[1]
			return true
		}
	}
	return false
}

// isASCII reports whether all bytes of a text are below 0x80.
func isASCII(text []byte) bool {
	all := uint64(0)
	if n := len(text); n >= 8 {
		all = binary.LittleEndian.Uint64(text[n-8:])
		for ; len(text) > 32; text = text[32:] { // 32 bytes in each step are faster
			all |= binary.LittleEndian.Uint64(text) | binary.LittleEndian.Uint64(text[8:]) |
				binary.LittleEndian.Uint64(text[16:]) | binary.LittleEndian.Uint64(text[24:])
		}
		for ; len(text) > 8; text = text[8:] {
			all |= binary.LittleEndian.Uint64(text)
		}
		text = nil
	}
	for _, c := range text {
		all |= uint64(c)
	}
	return all&0x8080808080808080 == 0
}
