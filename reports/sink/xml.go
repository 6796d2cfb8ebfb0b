package sink

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// XML returns a writer for the output of encoding/xml, whose names must have gone through [Line].
// It breaks commands of CI systems with XML escapes, which a reader converts back.
func XML(w io.Writer) io.Writer { return &filter{w: w, spell: spellXML} }

func spellXML(b []byte, r rune, c byte) []byte {
	if r == utf8.RuneError || r < ' ' && r != '\r' || r&0xfffe == 0xfffe { // not allowed in XML
		return spellVisible(b, r, c)
	}
	return fmt.Appendf(b, "&#x%X;", r)
}
