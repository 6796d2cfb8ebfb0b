package sink

import (
	"errors"
	"strings"
	"testing"
)

// TestTextOnly: a terminal gets text, and no picture.
func TestTextOnly(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{"{\"a\": \"ü\"}\n\t", nil},
		{"\x89PNG\r\n\x1a\n", errBinary},
		{"\x1f\x8b\x08", errBinary},
		{"\x1b[31mred", errBinary},
	} {
		var b strings.Builder
		_, err := textOnly{&b}.Write([]byte(c.text))
		if !errors.Is(err, c.want) || err == nil && b.String() != c.text || err != nil && b.Len() > 0 {
			t.Errorf("%q: got %q, %v", c.text, b.String(), err)
		}
	}
}
