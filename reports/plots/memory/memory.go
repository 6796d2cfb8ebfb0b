// Package memory draws memory over time: what the process allocated and reserved, what the device
// had in use, the files and stages, the high-water mark and the cleanups that failed.
package memory

import (
	"errors"
	"io"
	"slices"

	"gonum.org/v1/plot/vg/draw"

	"vramsoak/reports/plots"
)

// ErrNothing is returned for a timeline without readings of allocated, reserved or device used. A
// peak, a total or a part of the memory does not draw a line.
var ErrNothing = errors.New("the log has no reading of allocated, reserved or used memory to plot")

// Plot draws memory over time: allocated, reserved and device used, the files and stages, the
// bounds of the device, the high-water mark and the cleanups that failed.
func (c *Chart) Plot(w io.Writer, format string, opts plots.Options) error {
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
