package sink

import (
	"encoding/json"
	"io"
	"unicode/utf16"
)

// JSON returns a writer for the text of JSON documents, which encoding/json made: what is harmful
// and in a string gets JSON's own escape, \u202e, so that every reader gets it back. The writer
// holds nothing back at the end of a document.
func JSON(w io.Writer) io.Writer { return &filter{w: w, spell: spellJSON} }

// WriteJSON writes a value as people read it.
func WriteJSON(w io.Writer, v any) error {
	enc := JSONLines(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// JSONLines returns an encoder that writes a value a line.
func JSONLines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(JSON(w))
	enc.SetEscapeHTML(false)
	return enc
}

func spellJSON(b []byte, r rune, _ byte) []byte {
	const digits = "0123456789abcdef"
	unit := func(r rune) {
		b = append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	if r >= 0x10000 {
		high, low := utf16.EncodeRune(r)
		unit(high)
		r = low
	}
	unit(r)
	return b
}
