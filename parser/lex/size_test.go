package lex_test

import (
	"testing"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

func TestParseSize(t *testing.T) {
	// The sizes were computed by hand: 7.23 * 2^30 = 7763153387.52, and half of 0.01 GiB =
	// 5368709.12.
	for text, want := range map[string]record.Size{
		"7.23GB":   {Bytes: 7763153388, Resolution: 5368709},
		"7.23gb":   {Bytes: 7763153388, Resolution: 5368709},
		"24 GiB":   {Bytes: 25769803776, Resolution: 536870912},
		"512.0MiB": {Bytes: 536870912, Resolution: 52428},
		"4M":       {Bytes: 4194304, Resolution: 524288},
		"1048576":  {Bytes: 1048576},
		"12 bytes": {Bytes: 12},
		"-1.5 KiB": {Bytes: -1536, Resolution: 51},
		"0.00GB":   {Bytes: 0, Resolution: 5368709},
	} {
		got, err := lex.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "GB", "1.2.3GB", "X.XXgb", "nan", "7 parsecs", "1e3MB",
		"99999999999GB", "-", ".", "--1MB",
	} {
		if got, err := lex.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %+v, want an error", text, got)
		}
	}
}

func TestSizeBounds(t *testing.T) {
	s := record.Size{Bytes: 3, Resolution: 5}
	if s.Low() != 0 || s.High() != 8 {
		t.Errorf("3 give or take 5 is [%d, %d], want [0, 8]: no memory is less than nothing", s.Low(),
			s.High())
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1048576: "1.00 MiB", 7763153388: "7.23 GiB",
		25769803776: "24.0 GiB",
		140000000:   "134 MiB", -4194304: "-4.00 MiB", 1<<40 - 1: "1.00 TiB",
	} {
		if got := record.FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
