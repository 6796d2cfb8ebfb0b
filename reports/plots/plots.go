// Package plots holds what all plots share: file formats, canvas, axes, colours, legends and
// labels. Each plot has a package of its own:
//
//	memory          memory over time: allocated, reserved, device used; files and stages
//	overfiles       the values that are judged file by file, and the growth that was found
//	overshards      a run of many shards: the growth in each of them, and in all together
//	overruns        a suite's history: a value of each run, and where it changed
//	comparison      two runs: how much worse each metric got, and the worst file by file
//	fragmentation   an allocator's segments over time
//
// The same input gives the same bytes.
package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image"
	"io"
	"regexp"
	"strconv"
	"strings"

	"git.sr.ht/~sbinet/gg"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"vramsoak/reports/sink"
)

// Formats are the formats in which plots are written.
var Formats = []string{"png", "svg", "pdf"}

// Options give the size of a plot in pixels, at 96 pixels to the inch. If a size is 0, the width is
// 1600 pixels, and the height 900 pixels or as much as the plot's panels need.
type Options struct {
	Width, Height int
}

// MinHeight is the smallest height in pixels in which the text of a plot fits.
const MinHeight = 360

const (
	minWidth  = 600
	maxPixels = 64 << 20 // a PNG of this size takes 256 MiB of memory
)

// PixelsWide returns the width, or the default.
func (o Options) PixelsWide() int { return cmp.Or(o.Width, 1600) }

// PixelsHigh returns the height, or the default.
func (o Options) PixelsHigh() int { return cmp.Or(o.Height, 900) }

// Draw makes a canvas for the format, calls drawOn to draw on it, and writes the file. drawOn must
// pass all text through the function encode, because the fonts of a PDF have another encoding.
func Draw(
	w io.Writer, format string, opts Options,
	drawOn func(c draw.Canvas, encode func(string) string) error,
) error {
	if opts.PixelsWide() < minWidth || opts.PixelsHigh() < MinHeight {
		return fmt.Errorf("a plot of %d x %d pixels has no room for its words; take at least %d "+
			"x %d",
			opts.PixelsWide(), opts.PixelsHigh(), minWidth, MinHeight)
	}
	if opts.PixelsWide() > maxPixels/opts.PixelsHigh() {
		return fmt.Errorf("a plot of %d x %d pixels takes too much memory; take at most %d Mi "+
			"pixels",
			opts.PixelsWide(), opts.PixelsHigh(), maxPixels>>20)
	}
	const dpi = 96
	width, height := vg.Length(opts.PixelsWide())*vg.Inch/dpi,
		vg.Length(opts.PixelsHigh())*vg.Inch/dpi
	var canvas vg.CanvasWriterTo
	encode := func(s string) string { return s }
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: bitmap(opts.PixelsWide(), opts.PixelsHigh(), dpi)}
	case "svg":
		canvas = vgsvg.New(width, height)
	case "pdf":
		canvas = vgpdf.New(width, height)
		encode = latin1
	default:
		return fmt.Errorf("unknown plot format %q; take one of %s", format,
			strings.Join(Formats, ", "))
	}
	if err := drawOn(draw.NewCanvas(canvas, width, height), encode); err != nil {
		return err
	}

	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("encode the plot as %s: %w", format, err)
	}
	data := out.Bytes()
	switch format {
	case "pdf":
		data = undated(data)
	case "svg":
		// vgsvg labels PNGs in an SVG as JPGs. It names the font Liberation Sans, which few
		// machines have; Arial is as wide.
		data = bytes.ReplaceAll(data, []byte("data:image/jpg;base64,"),
			[]byte("data:image/png;base64,"))
		data = bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"),
			[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
		data = withLengths(data)
		w = sink.XML(w)
	}
	_, err := w.Write(data) // the caller names the file
	return err
}

var svgText = regexp.MustCompile(`(<text [^>]*font-size:([0-9.]+)px[^>]*)>([^<]+)</text>`)

// withLengths gives each text of an SVG the width for which it was placed. Without it, a machine
// without these fonts would draw wider letters, which overlap and are cut off.
func withLengths(svg []byte) []byte {
	return svgText.ReplaceAllFunc(svg, func(element []byte) []byte {
		m := svgText.FindSubmatch(element)
		size, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return element
		}
		sty := Text(vg.Length(size), Ink, text.XLeft, text.YTop)
		width := sty.Width(html.UnescapeString(string(m[3])))
		return fmt.Appendf(nil, `%s textLength="%.2f" lengthAdjust="spacingAndGlyphs">%s</text>`,
			m[1], width.Points(), m[3])
	})
}

// bitmap returns an image canvas. The constructor of vgimg makes the image twice, and the image is
// the largest object while a soak writes its reports.
func bitmap(width, height, dpi int) *vgimg.Canvas {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.InvertY()
	return vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dpi))
}

var pdfDate = regexp.MustCompile(`/(CreationDate|ModDate) \(D:\d{14}\)`)

// undated replaces all dates in a PDF by one fixed date of the same length, so that the same input
// gives the same bytes.
func undated(pdf []byte) []byte {
	return pdfDate.ReplaceAll(pdf, []byte("/$1 (D:20000101000000)"))
}

// latin1 encodes text in Latin-1, the only encoding that the fonts of a PDF have.
func latin1(s string) string {
	var b []byte
	for _, r := range s {
		if r >= ' ' && r <= '~' || r >= 0xA0 && r <= 0xFF {
			b = append(b, byte(r))
		} else {
			b = append(b, '?')
		}
	}
	return string(b)
}
