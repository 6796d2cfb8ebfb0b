package plots

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
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
		got, err := strconv.ParseFloat(found[i][1], 64)
		if err != nil {
			t.Fatal(err)
		}
		// The advance of each letter is rounded to a 64th of a point.
		if want := advance(t, s); math.Abs(got-want) > float64(len(s))/64+0.005 {
			t.Errorf("%q has the length %.2f, want %.2f", s, got, want)
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

// advance returns the width of a text in points, by the widths and the kerning in the file of the
// font.
func advance(t *testing.T, s string) float64 {
	t.Helper()
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	em := fixed.I(int(f.UnitsPerEm()))
	var buffer sfnt.Buffer
	sum, last := fixed.Int26_6(0), sfnt.GlyphIndex(0)
	for _, r := range s {
		glyph, err := f.GlyphIndex(&buffer, r)
		if err != nil || glyph == 0 {
			t.Fatalf("the font has no %q: %v", r, err)
		}
		width, err := f.GlyphAdvance(&buffer, glyph, em, font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		sum += width
		if last != 0 {
			kern, err := f.Kern(&buffer, last, glyph, em, font.HintingNone)
			if err != nil && !errors.Is(err, sfnt.ErrNotFound) {
				t.Fatal(err)
			}
			sum += kern
		}
		last = glyph
	}
	return TextSize * float64(sum) / float64(em)
}
