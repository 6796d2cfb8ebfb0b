package record_test

import (
	"testing"

	"vramsoak/parser/record"
)

// TestFormatBytes: a size that rounds up to 10 or 100 has as many digits as 10 or 100.
func TestFormatBytes(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		bytes float64
		want  string
	}{
		{9.99 * mib, "9.99 MiB"},
		{9.997 * mib, "10.0 MiB"},
		{10 * mib, "10.0 MiB"},
		{99.9 * mib, "99.9 MiB"},
		{99.97 * mib, "100 MiB"},
		{-99.97 * mib, "-100 MiB"},
		{100 * mib, "100 MiB"},
	} {
		if got := record.FormatBytes(int64(c.bytes)); got != c.want {
			t.Errorf("%.0f bytes are %q, want %q", c.bytes, got, c.want)
		}
	}
}
