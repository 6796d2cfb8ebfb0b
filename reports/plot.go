package reports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// PlotFormats are the formats that plots are written in.
var PlotFormats = []string{"png", "svg", "pdf"}

// ErrNothingToPlot says that a timeline has no level over time; a peak, a total and a part of the memory are none.
var ErrNothingToPlot = errors.New("the log has no reading of allocated, reserved or used memory to plot")

// PlotOptions are the size of a plot in pixels, at 96 to the inch. The zero value is 1600 x 900, or as high as its panels need.
type PlotOptions struct {
	Width, Height int
}

// The least size at which the words of a plot have room, and the most pixels that it may take: 256 MiB of picture.
const (
	minWidth, minHeight = 600, 360
	maxPixels           = 64 << 20
)

// Plot draws memory over time: allocated, reserved and device used, the files and stages, the bounds of the device, the
// high-water mark and the cleanups that failed.
func Plot(w io.Writer, format string, tl *parser.Timeline, rep *check.Report, opts PlotOptions) error {
	return drawing(w, format, opts, func(c draw.Canvas, encode func(string) string) error {
		chart := makeChart(tl, rep)
		if len(chart.series) == 0 {
			return ErrNothingToPlot
		}
		p := &picture{chart: chart, page: page{encode}, columns: opts.width() - 200}
		p.draw(c, rep)
		return nil
	})
}

func (o PlotOptions) width() int  { return cmp.Or(o.Width, 1600) }
func (o PlotOptions) height() int { return cmp.Or(o.Height, 900) }

// drawing draws on a canvas of the format and writes it. encode gives text as the format's fonts have it.
func drawing(w io.Writer, format string, opts PlotOptions, drawOn func(c draw.Canvas, encode func(string) string) error) error {
	if opts.width() < minWidth || opts.height() < minHeight {
		return fmt.Errorf("a plot of %d x %d pixels has no room for its words; take at least %d x %d",
			opts.width(), opts.height(), minWidth, minHeight)
	}
	if opts.width() > maxPixels/opts.height() {
		return fmt.Errorf("a plot of %d x %d pixels takes too much memory; take at most %d Mi pixels",
			opts.width(), opts.height(), maxPixels>>20)
	}
	const dpi = 96
	width, height := vg.Length(opts.width())*vg.Inch/dpi, vg.Length(opts.height())*vg.Inch/dpi
	var canvas vg.CanvasWriterTo
	encode := func(s string) string { return s }
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	case "svg":
		canvas = vgsvg.New(width, height)
	case "pdf":
		canvas = vgpdf.New(width, height)
		encode = latin1
	default:
		return fmt.Errorf("unknown plot format %q; take one of %s", format, strings.Join(PlotFormats, ", "))
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
	case "svg": // Arial is as wide as Liberation Sans, which few machines have
		data = bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

var pdfDate = regexp.MustCompile(`/(CreationDate|ModDate) \(D:\d{14}\)`)

// undated gives a PDF a fixed date, of the same length, so that the same input makes the same bytes.
func undated(pdf []byte) []byte {
	return pdfDate.ReplaceAll(pdf, []byte("/$1 (D:20000101000000)"))
}

// latin1 encodes text for the PDF's fonts, which know no more than that.
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
