package plots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TestTextLengths: each text of an SVG has the width that it has in a PNG, whatever fonts the
// machine has that shows it.
func TestTextLengths(t *testing.T) {
	texts := []string{"FAIL: leak 96.0 MiB/file", `a<b & "c"`, "file 1"}
	var out bytes.Buffer
	err := Draw(&out, "svg", Options{}, func(c draw.Canvas, encode func(string) string) error {
		for i, s := range texts {
			c.FillText(Text(TextSize, Ink, text.XLeft, text.YTop), vg.Point{Y: vg.Length(20 * i)},
				encode(s))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`textLength="([0-9.]+)"`).FindAllStringSubmatch(out.String(), -1)
	if len(found) != len(texts) {
		t.Fatalf("%d of %d texts have a length:\n%s", len(found), len(texts), out.String())
	}
	for i, s := range texts {
		want := fmt.Sprintf("%.2f", Text(TextSize, Ink, text.XLeft, text.YTop).Width(s).Points())
		if found[i][1] != want {
			t.Errorf("%q has the length %s, want %s", s, found[i][1], want)
		}
	}
	if !strings.Contains(out.String(), ">a&lt;b &amp; &#34;c&#34;</text>") {
		t.Error("a text is not escaped")
	}
}

// TestDrawError: the error of a picture that cannot be written is the writer's own, because the
// caller names the file.
func TestDrawError(t *testing.T) {
	noRoom := errors.New("no space left on device")
	for _, format := range Formats {
		r, w := io.Pipe()
		if err := r.CloseWithError(noRoom); err != nil {
			t.Fatal(err)
		}
		err := Draw(w, format, Options{}, func(draw.Canvas, func(string) string) error { return nil })
		if err == nil || err.Error() != noRoom.Error() {
			t.Errorf("%s: got %v, want %v", format, err, noRoom)
		}
	}
}
