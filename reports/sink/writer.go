package sink

import (
	"io"
	"unicode/utf8"
)

// A filter makes harmful characters in a text visible, and breaks every command of a CI system.
// Newlines and tabs pass unchanged.
type filter struct {
	w io.Writer
	// spell appends another spelling of the rune r. If r is [utf8.RuneError], it appends a spelling
	// of the byte c, which is not UTF-8.
	spell func(b []byte, r rune, c byte) []byte
	watch watch
	held  []byte // the beginning of a rune that the next write continues
	out   []byte
	// styles is set if vramsoak's own styles pass unchanged.
	styles bool
}

// Write implements [io.Writer]. The end of p may cut a rune.
func (f *filter) Write(p []byte) (int, error) {
	text := p
	if len(f.held) > 0 {
		text = append(f.held, p...)
		f.held = nil
	}
	f.out = f.out[:0]
	for len(text) > 0 {
		n := plainLen(text)
		f.watch.plain(text[:n])
		f.out = append(f.out, text[:n]...)
		text = text[n:]
		if len(text) == 0 {
			break
		}
		if !utf8.FullRune(text) {
			f.held = append([]byte(nil), text...)
			break
		}
		text = text[f.one(text):]
	}
	if err := f.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// one writes the rune at the beginning of text, and returns the rune's length.
func (f *filter) one(text []byte) (n int) {
	r, n := utf8.DecodeRune(text)
	switch {
	case r == '\n':
		f.out = append(f.out, '\n')
		f.watch.newline()
		return n
	case r == escape && f.styles:
		if style := styleLen(text); style > 0 {
			f.out = append(f.out, text[:style]...)
			return style
		}
	case r == utf8.RuneError && n == 1, r != '\t' && harmful(r), f.watch.commands(r):
	default:
		f.out = append(f.out, text[:n]...)
		f.watch.see(r)
		return n
	}
	f.out = f.spell(f.out, r, text[0])
	f.watch.spelled()
	return n
}

// plainLen returns the length of the plain ASCII text at the beginning of p.
func plainLen(p []byte) int {
	for i, c := range p {
		if c < ' ' || c >= 0x7f || c == ':' || c == '[' {
			return i
		}
	}
	return len(p)
}

// Close writes the incomplete rune at the end of the last write. It does not close the wrapped
// writer.
func (f *filter) Close() error {
	f.out = f.out[:0]
	for _, c := range f.held {
		f.out = f.spell(f.out, utf8.RuneError, c)
	}
	f.held = nil
	return f.flush()
}

func (f *filter) flush() error {
	if len(f.out) == 0 {
		return nil
	}
	_, err := f.w.Write(f.out)
	const kept = 256 << 10
	if cap(f.out) > kept {
		f.out = nil
	}
	return err
}

// spellVisible appends a rune in the spelling that people read.
func spellVisible(b []byte, r rune, c byte) []byte {
	if r == utf8.RuneError {
		return appendByte(b, c)
	}
	return appendVisible(b, r)
}
