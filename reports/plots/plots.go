// Package plots has what all plots share: the formats and their canvas, axes, colours, legends and
// labels. Each plot has a package below it:
//
//	memory          memory over time: allocated, reserved, device used; files and stages
//	overfiles       a ledger's value after each file, and the growth that was found in it
//	overruns        a suite's history: a value of each run, and where it changed
//	fragmentation   an allocator's segments over time
//
// The same input gives the same bytes.
package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"io"
	"regexp"
	"strings"

	"git.sr.ht/~sbinet/gg"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"vramsoak/reports/sink"
)

// Formats are the formats in which plots are written.
var Formats = []string{"png", "svg", "pdf"}

// Options are the size of a plot in pixels, at 96 to the inch. A plot of size 0 is 1600 x 900
// pixels, or as high as its panels need.
type Options struct {
	Width, Height int
}

// MinHeight is the least height in pixels at which the words of a plot have room.
const MinHeight = 360

const (
	minWidth  = 600
	maxPixels = 64 << 20 // a picture of 256 MiB
)

// PixelsWide returns the width, or the default.
func (o Options) PixelsWide() int { return cmp.Or(o.Width, 1600) }

// PixelsHigh returns the height, or the default.
func (o Options) PixelsHigh() int { return cmp.Or(o.Height, 900) }

// Draw makes a canvas of the format, has drawOn draw on it, and writes it. drawOn must pass text
// through encode, because the fonts of a PDF have an encoding of their own.
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
		// vgsvg labels its PNGs as JPGs. Arial is as wide as Liberation Sans, which few machines
		// have.
		data = bytes.ReplaceAll(data, []byte("data:image/jpg;base64,"),
			[]byte("data:image/png;base64,"))
		data = bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"),
			[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
		w = sink.XML(w)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

// bitmap returns an image canvas. vgimg's own constructor makes the image twice, and it is the
// largest object among the reports of a soak.
func bitmap(width, height, dpi int) *vgimg.Canvas {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.InvertY()
	return vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dpi))
}

var pdfDate = regexp.MustCompile(`/(CreationDate|ModDate) \(D:\d{14}\)`)

// undated replaces the dates in a PDF by a fixed one of the same length, so that the same input
// gives the same bytes.
func undated(pdf []byte) []byte {
	return pdfDate.ReplaceAll(pdf, []byte("/$1 (D:20000101000000)"))
}

// latin1 encodes text in Latin-1, which is all that the fonts of a PDF have.
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
