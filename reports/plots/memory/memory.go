// Package memory draws memory over time: the memory that the process allocated and reserved, the
// memory in use on the device, the level at which files end, the files and stages, the high-water
// mark, where memory ran out, and the cleanups that failed.
//
//   - sketch.go and stretch.go keep the data for a plot while a log is read.
//   - chart.go collects what is drawn, with series.go (lines), idle.go (the level at which files
//     end), gap.go (dark memory), shortages.go (where memory ran out), clock.go (the x axis).
//   - sides.go collects and draws the other devices of a log with several.
//   - picture.go draws a chart, with title.go (words), layers.go (lines, marks), columns.go (bands
//     for many files) and stages.go (colours).
package memory

import (
	"errors"
	"io"
	"slices"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/reports/plots"
)

// ErrNothing is the error for a timeline without any reading of allocated, reserved or device used.
// Other quantities, such as a peak or a total, do not make a line.
var ErrNothing = errors.New("the log has no reading of allocated, reserved or used memory to plot")

// Plot draws the chart: allocated, reserved and device used, the files and stages, the limits of
// the device, the high-water mark, and the cleanups that failed.
func (c *Chart) Plot(w io.Writer, format string, opts plots.Options) error {
	if opts.Height == 0 {
		opts.Height = c.heightWithSides(opts)
	}
	return plots.Draw(w, format, opts, func(on draw.Canvas, encode func(string) string) error {
		if len(c.series) == 0 {
			return ErrNothing
		}
		chart := *c
		chart.notes = slices.Clip(chart.notes) // drawing adds notes
		p := &picture{
			Chart: &chart, Page: plots.Page{Encode: encode},
			columns: opts.PixelsWide() - 200,
		}
		p.draw(on)
		return nil
	})
}
