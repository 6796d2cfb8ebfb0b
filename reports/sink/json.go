package sink

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf16"
)

// JSON returns a writer for the output of encoding/json. It replaces harmful runes in strings with
// JSON escapes such as \u202e, which every reader converts back. When a document is complete, all
// of it has been written.
func JSON(w io.Writer) io.Writer { return &filter{w: w, spell: spellJSON} }

// WriteJSON writes a value with indentation.
func WriteJSON(w io.Writer, v any) error {
	enc := JSONLines(w)
	enc.SetIndent("", jsonIndent)
	return enc.Encode(v)
}

// A List is the content of a list in a JSON document, and the list's key.
type List struct {
	Key   string
	Items iter.Seq[any]
}

// WriteLongJSON writes a value like [WriteJSON], but fills the empty lists in it item by item, so
// that the whole document is never in memory. The lists must be in the order of the document.
func WriteLongJSON(w io.Writer, v any, lists []List) error {
	var doc bytes.Buffer
	encode := func(v any, prefix string) error {
		enc := json.NewEncoder(&doc)
		enc.SetEscapeHTML(false)
		enc.SetIndent(prefix, jsonIndent)
		return enc.Encode(v)
	}
	if err := encode(v, ""); err != nil {
		return err
	}
	out := bufio.NewWriter(JSON(w)) // Flush returns its errors
	rest := bytes.Clone(doc.Bytes())
	for _, list := range lists {
		before, after, ok := bytes.Cut(rest, []byte(strconv.Quote(list.Key)+": []"))
		if !ok {
			return fmt.Errorf("no empty list %q in a JSON document", list.Key)
		}
		indent := string(before[bytes.LastIndexByte(before, '\n')+1:])
		_, _ = fmt.Fprintf(out, "%s%q: [", before, list.Key)
		separator, end := "\n", ""
		for item := range list.Items {
			doc.Reset()
			if err := encode(item, indent+jsonIndent); err != nil {
				return err
			}
			text := bytes.TrimSuffix(doc.Bytes(), []byte("\n"))
			_, _ = fmt.Fprintf(out, "%s%s%s%s", separator, indent, jsonIndent, text)
			separator, end = ",\n", "\n"+indent
		}
		_, _ = out.WriteString(end + "]")
		rest = after
	}
	_, _ = out.Write(rest)
	return out.Flush()
}

const jsonIndent = "  "

// JSONLines returns an encoder that writes one line for each value.
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
