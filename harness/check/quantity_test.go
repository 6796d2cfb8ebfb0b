package check_test

import (
	"testing"

	"vramsoak/harness/check"
)

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{7.23 * (1 << 30), check.Bytes, "7.23 GiB"},
		{4 << 20, check.BytesPerFile, "4.00 MiB/file"},
		{0.975, check.Ratio, "97.5 %"},
		{-0.00123, check.Ratio + check.PerFile, "-0.123 %/file"},
		{-8.5e-9, check.Ratio + check.PerFile, "0 %/file"},
		{12.41, check.Seconds, "12.4 s"},
		{31.19, check.TimesRealTime, "31.2 x real time"},
		{3, check.Count, "3"},
	} {
		if got := check.Quantity(c.value, c.unit); got != c.want {
			t.Errorf("%v %s: got %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	for share, want := range map[float64]string{
		0.053: "+5.3 %", -0.01: "-1.0 %", 8.9: "+890.0 %",
		9: "x 10", 200.6: "x 202", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.0006: "+0.1 %",
	} {
		if got := check.Change(share); got != want {
			t.Errorf("%v: got %q, want %q", share, got, want)
		}
	}
}
