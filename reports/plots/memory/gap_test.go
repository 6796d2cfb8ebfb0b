package memory

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// TestChartOfTwoLedgers: the plot of a run on a shared device shows the memory of the process, that
// of the whole device, and the dark memory. It notes that the run began on a device in use.
func TestChartOfTwoLedgers(t *testing.T) {
	archive, err := txtar.ParseFile("../../testdata/dirty-start.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tl, rep := timelines.Judge(t, string(archive.Files[0].Data), check.DefaultPolicy())
	c := makeChart(tl, rep, nil)
	var names []string
	for _, s := range c.series {
		names = append(names, s.name)
	}
	// The samples before and after the four checkpoints differ by the model's memory, or are
	// missing. Only the dark memory of the idle level is certain: there the last samples are 2500
	// and 600 MiB, with 200 MiB reserved.
	const mib = 1 << 20
	for _, d := range c.dark {
		if d.reserved != 200*mib || d.used != 600*mib {
			t.Errorf("got a gap from %g to %g MiB", d.reserved/mib, d.used/mib)
		}
	}
	want := []string{
		"device used, all processes", "device used by the process", "reserved",
		"allocated",
	}
	if !slices.Equal(names, want) || len(c.dark) == 0 {
		t.Errorf("series %q, gaps %v", names, c.dark)
	}
	// 2100 MiB reserved, 400 dark, 9 GiB of others
	if whole := c.series[0].pieces[0][0].Y; whole != float64(9<<30+2500<<20) {
		t.Errorf("got %.0f for the whole device", whole)
	}
	notes := strings.Join(c.notes, "\n")
	for _, say := range []string{
		"clean-start, device before the run: 10.0 GiB of 24.0 GiB in use",
		"clean-start, device after the run: not back", "other processes held 9.00 GiB",
	} {
		if !strings.Contains(notes, say) {
			t.Errorf("the notes lack %q:\n%s", say, notes)
		}
	}

	// If the samples have only one device, it is the checkpoints' device, whatever its number.
	for i := range tl.Samples {
		tl.Samples[i].Lane.Device = 3
	}
	if c := makeChart(tl, rep, nil); len(c.series) != 4 || len(c.dark) == 0 {
		t.Errorf("got %d series if the driver calls the device 3", len(c.series))
	}
	// If two ranks share a device, its samples belong to neither.
	second := tl.Files[1].Checkpoints
	for i := range second {
		second[i].Lane = record.Lane{Rank: 1}
	}
	for i := range tl.Samples {
		tl.Samples[i].Lane.Device = 0
	}
	if c := makeChart(tl, rep, nil); len(c.dark) > 0 {
		t.Error("got a gap although two ranks share the device")
	}
}
