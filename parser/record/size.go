package record

import (
	"fmt"
	"strconv"
	"strings"
)

// A Size is an amount of memory as a log gives it. The true amount lies in [Low, High].
type Size struct {
	// Bytes is the amount as printed, in bytes. It is negative only if the log is wrong.
	Bytes int64
	// Resolution is half of one unit of the last printed digit, in bytes. For example, "7.23GB" is
	// 7.23 GiB give or take 0.005 GiB, so its resolution is 5,368,709 bytes. Resolution is 0 if the
	// log gives exact bytes.
	Resolution int64
}

// Exact returns a size known to the byte.
func Exact(bytes int64) Size { return Size{Bytes: bytes} }

// Low returns the least amount that the printed digits allow, in bytes. It is never below 0,
// unless Bytes is negative.
func (s Size) Low() int64 {
	if s.Bytes >= 0 {
		return max(0, s.Bytes-s.Resolution)
	}
	return s.Bytes - s.Resolution
}

// High returns the largest amount that the printed digits allow, in bytes.
func (s Size) High() int64 { return s.Bytes + s.Resolution }

// String returns the size in IEC units: "7.23 GiB".
func (s Size) String() string { return FormatBytes(s.Bytes) }

// IEC units, in bytes.
const (
	KiB = int64(1) << 10
	MiB = int64(1) << 20
	GiB = int64(1) << 30
	TiB = int64(1) << 40
)

// ParseRatio reads a ratio above 0 and up to 1: "95%" or "0.95".
func ParseRatio(s string) (share float64, ok bool) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		f /= 100
	}
	return f, err == nil && f > 0 && f <= 1
}

// FormatBytes returns bytes in IEC units with about three significant digits: "512 B", "4.00 MiB",
// "7.23 GiB", "-3.1 KiB".
func FormatBytes(n int64) string {
	sign := ""
	f := float64(n)
	if n < 0 {
		sign, f = "-", -f
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for f >= 1023.5 && i < len(units)-1 {
		f /= 1024
		i++
	}
	switch {
	case i == 0:
		return fmt.Sprintf("%s%.0f B", sign, f)
	case f < 9.995: // 9.997 is 10.0, not 10.00
		return fmt.Sprintf("%s%.2f %s", sign, f, units[i])
	case f < 99.95:
		return fmt.Sprintf("%s%.1f %s", sign, f, units[i])
	default:
		return fmt.Sprintf("%s%.0f %s", sign, f, units[i])
	}
}
