package plots

import (
	"image/color"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"vramsoak/harness/check"
)

// Text returns a style of text at a size in points.
func Text(size vg.Length, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

// Fit cuts text to a width. Three dots replace the part that was cut off.
func Fit(sty text.Style, s string, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	shown := sort.Search(len(runes), func(n int) bool {
		return sty.Width(string(runes[:n+1])+"...") > width
	})
	runes = runes[:max(1, shown)]
	return string(runes) + "..."
}

// The colours of Okabe and Ito's palette, which people with any colour vision can distinguish
// (Color Universal Design, 2008).
var (
	AllocatedColor = color.NRGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF}
	ReservedColor  = color.NRGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF}
	UsedColor      = color.NRGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF}
	RssColor       = color.NRGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF}
	FailedColor    = color.NRGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF}

	Paper     = color.Gray{Y: 0xFF}
	Ink       = color.Gray{Y: 0x20}
	SoftInk   = color.Gray{Y: 0x60}
	GridColor = color.Gray{Y: 0xE6}
	BandColor = color.Gray{Y: 0xF4}

	StageColors = []color.NRGBA{
		{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF},
		{R: 0xF0, G: 0xE4, B: 0x42, A: 0xFF},
		{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF},
		{R: 0x99, G: 0x99, B: 0x99, A: 0xFF},
		{R: 0x8C, G: 0xD1, B: 0xB9, A: 0xFF},
	}
)

// Sizes of text, in points.
const (
	TitleSize = 15
	TextSize  = 11
	SmallSize = 10
)

// VerdictInk returns the colour of a verdict's text.
func VerdictInk(v check.Verdict) color.Color {
	switch v {
	case check.Pass:
		return AllocatedColor
	case check.Fail:
		return FailedColor
	}
	return Ink
}

// Tint mixes a colour with white. A strength of 1 returns the colour unchanged, and 0 returns
// white.
func Tint(c color.Color, strength float64) color.Color {
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8(255 - strength*(255-float64(v>>8)) + 0.5) }
	return color.NRGBA{R: mix(r), G: mix(g), B: mix(b), A: 0xFF}
}
