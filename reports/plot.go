package reports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"io"
	"regexp"
	"slices"
	"strings"

	"git.sr.ht/~sbinet/gg"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/reports/sink"
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

// Plot draws memory over time, of a timeline that has its checkpoints. See [Chart.Plot].
func Plot(w io.Writer, format string, tl *parser.Timeline, rep *check.Report, opts PlotOptions) error {
	return sketchOf(tl, rep, opts).Chart(tl, rep).Plot(w, format, opts)
}

// sketchOf sketches a timeline that has its checkpoints.
func sketchOf(tl *parser.Timeline, rep *check.Report, opts PlotOptions) *Sketch {
	recovered := map[*parser.File][]check.Recovered{}
	for _, r := range rep.Recoveries {
		recovered[r.File] = append(recovered[r.File], r)
	}
	s := NewSketch(opts)
	for f := range tl.InOrder() {
		s.Add(f, recovered[f])
	}
	return s
}

// Plot draws memory over time: allocated, reserved and device used, the files and stages, the bounds of the device, the
// high-water mark and the cleanups that failed.
func (c *Chart) Plot(w io.Writer, format string, opts PlotOptions) error {
	return drawing(w, format, opts, func(on draw.Canvas, encode func(string) string) error {
		if len(c.series) == 0 {
			return ErrNothingToPlot
		}
		chart := *c
		chart.notes = slices.Clip(chart.notes) // drawing adds some
		p := &picture{Chart: &chart, page: page{encode}, columns: opts.width() - 200}
		p.draw(on)
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
		canvas = vgimg.PngCanvas{Canvas: bitmap(opts.width(), opts.height(), dpi)}
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
	case "svg": // Arial is as wide as Liberation Sans, which few machines have; images are PNGs, whatever the library calls them
		data = bytes.ReplaceAll(data, []byte("data:image/jpg;base64,"), []byte("data:image/png;base64,"))
		data = bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
		w = sink.XML(w)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

// bitmap is an image canvas. vgimg by itself makes the image twice, which of all that a soak's reports hold is the largest.
func bitmap(width, height, dpi int) *vgimg.Canvas {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.InvertY()
	return vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dpi))
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
