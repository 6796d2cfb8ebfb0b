package text

import (
	"io"
	"strconv"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// GPUMemory writes how much memory of each GPU is in use, and how much each process holds that the
// driver names.
func GPUMemory(w io.Writer, devices []meter.DeviceInfo, all []meter.Occupancy, opts Options) error {
	t := newWriter(opts)
	rows := [][]string{{"GPU", "Name", "Total", "Used", "Free", "Share", "Processes"}}
	for _, o := range all {
		share := ""
		if o.Total > 0 {
			share = strconv.FormatFloat(100*float64(o.Used)/float64(o.Total), 'f', 1, 64) + " %"
		}
		rows = append(rows, []string{
			strconv.Itoa(o.GPU), sink.Line(devices[o.GPU].Name), record.FormatBytes(o.Total),
			record.FormatBytes(o.Used), record.FormatBytes(o.Total - o.Used), share,
			wording.Count(len(o.Holders)),
		})
	}
	if err := t.table(rows, []int{0, 2, 3, 4, 5, 6}, 1); err != nil {
		return err
	}
	return t.flush(w)
}
