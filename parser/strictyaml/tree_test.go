package strictyaml

import (
	"strings"
	"testing"
)

// TestOctal: all functions refuse a number that YAML 1.1 reads differently from its digits. YAML
// 1.1 reads a number that begins with 0 as octal, so 010 is 8.
func TestOctal(t *testing.T) {
	for written, want := range map[string]string{
		"010":   `p.yaml:1:4: expected a number without a 0 before it, found "010"; YAML reads it as 8; write 10 or 8, or put it in quotes if it is a text`,
		"-010":  `p.yaml:1:4: expected a number without a 0 before it, found "-010"; YAML reads it as -8; write -10 or -8, or put it in quotes if it is a text`,
		"10":    "",
		"0":     "",
		"-3":    "",
		`"010"`: "",
		"0.5":   "",
		"1e3":   "",
	} {
		for _, src := range []string{"n: " + written, "n: &a " + written, "n: *a\nx-m: &a " +
			written} {
			r := New("p.yaml")
			var text string
			r.Mapping(r.Document([]byte(src), "", ""), Fields{"n": r.Text(&text, "a text")})
			got := ""
			if err := r.Err(); err != nil {
				got = err.Error()
			}
			if (got == "") != (want == "") || src == "n: "+written && got != want {
				t.Errorf("%s: got %q, want %q", src, got, want)
			}
			if want == "" && text != strings.Trim(written, `"`) {
				t.Errorf("%s: read as %q, want an error", src, text)
			}
		}
	}
}
