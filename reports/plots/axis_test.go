package plots

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

func labelsOf(ticks []plot.Tick) []string {
	var out []string
	for _, t := range ticks {
		out = append(out, t.Label)
	}
	return out
}

func TestValueTicks(t *testing.T) {
	for _, c := range []struct {
		top  float64
		want []string
	}{
		{8.5 * float64(record.GiB), []string{"0", "2 GiB", "4 GiB", "6 GiB", "8 GiB"}},
		{1.6 * float64(record.GiB), []string{"0", "0.5 GiB", "1.0 GiB", "1.5 GiB"}},
		{1.2 * float64(record.GiB), []string{
			"0", "200 MiB", "400 MiB", "600 MiB", "800 MiB",
			"1,000 MiB", "1,200 MiB",
		}},
		{100 * float64(record.MiB), []string{
			"0", "20 MiB", "40 MiB", "60 MiB", "80 MiB",
			"100 MiB",
		}},
	} {
		if diff := cmp.Diff(c.want, labelsOf(ValueTicks(0, c.top, check.Bytes, 7))); diff != "" {
			t.Errorf("up to %.0f bytes (-want +got):\n%s", c.top, diff)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		unit    string
		want    []string
	}{
		{0.9, "seconds", []string{
			"0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8",
			"0.9",
		}},
		{45, "seconds", []string{"0", "5", "10", "15", "20", "25", "30", "35", "40", "45"}},
		{150, "minutes:seconds", []string{
			"0:00", "0:15", "0:30", "0:45", "1:00", "1:15", "1:30",
			"1:45", "2:00", "2:15", "2:30",
		}},
		{1000, "minutes", []string{"0", "2", "4", "6", "8", "10", "12", "14", "16"}},
		{3 * 3600, "hours:minutes", []string{
			"0:00", "0:30", "1:00", "1:30", "2:00", "2:30",
			"3:00",
		}},
		{20 * 3600, "hours", []string{"0", "2", "4", "6", "8", "10", "12", "14", "16", "18", "20"}},
	} {
		ticks, unit := TimeTicks(c.seconds)
		if unit != c.unit {
			t.Errorf("%v s is shown in %s, want %s", c.seconds, unit, c.unit)
		}
		if diff := cmp.Diff(c.want, labelsOf(ticks)); diff != "" {
			t.Errorf("%v s (-want +got):\n%s", c.seconds, diff)
		}
	}
}

// TestWithinWhole: an axis of shares ends at 100 %, unless a value is above, and keeps its length.
// It does not begin below 0 because of that.
func TestWithinWhole(t *testing.T) {
	for _, c := range []struct {
		bottom, top, highest float64
		unit                 string
		low, high            float64
	}{
		{0.5, 1.25, 1, check.Ratio, 0.25, 1},
		{0.125, 1.25, 1, check.Ratio, 0, 1},
		{-0.5, 1.25, 1, check.Ratio, -0.5, 1},
		{0.5, 1.25, 1.125, check.Ratio, 0.5, 1.25},
		{0.25, 0.75, 0.75, check.Ratio, 0.25, 0.75},
		{0.5, 1.25, 1, check.Bytes, 0.5, 1.25},
	} {
		if low, high := WithinWhole(c.bottom, c.top, c.highest, c.unit); low != c.low ||
			high != c.high {
			t.Errorf("%+v: got %g to %g", c, low, high)
		}
	}
}
