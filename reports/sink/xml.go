package sink

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// XML returns a writer for the text of XML documents, which encoding/xml made of names that went
// through [Line]. What is left to be done is to break commands of CI systems; a reader gets them
// back.
func XML(w io.Writer) io.Writer { return &filter{w: w, spell: spellXML} }

func spellXML(b []byte, r rune, c byte) []byte {
	if r == utf8.RuneError || r < ' ' && r != '\r' || r&0xfffe == 0xfffe { // no characters of XML
		return spellVisible(b, r, c)
	}
	return fmt.Appendf(b, "&#x%X;", r)
}
