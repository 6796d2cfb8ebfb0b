package harness

import (
	"fmt"
	"strconv"
	"strings"

	"vramsoak/parser"
)

// A Limit is an amount of a device's memory.
type Limit struct {
	Bytes int64
	Share float64 // of all of the memory, where it is more than 0; Bytes does not count then
}

// ParseLimit reads an amount such as "512MiB" or "0", or a share such as "5%". A number without a unit may be meant as
// either, and is refused.
func ParseLimit(s string) (Limit, error) {
	if strings.HasSuffix(s, "%") {
		if share, ok := parser.ParseShare(s); ok {
			return Limit{Share: share}, nil
		}
	} else if size, err := parser.ParseSize(s); err == nil && size.Bytes >= 0 {
		if _, bare := strconv.ParseFloat(s, 64); bare != nil || size.Bytes == 0 {
			return Limit{Bytes: size.Bytes}, nil
		}
	}
	return Limit{}, fmt.Errorf("expected an amount of memory such as 512MiB, or a share such as 5%%, found %q", s)
}

// Of is the limit on a device with so much memory, in bytes.
func (l Limit) Of(total int64) int64 {
	if l.Share > 0 {
		return int64(l.Share * float64(total))
	}
	return l.Bytes
}

// String is the limit as [ParseLimit] reads it, about.
func (l Limit) String() string {
	if l.Share > 0 {
		return strconv.FormatFloat(100*l.Share, 'f', -1, 64) + "%"
	}
	return parser.FormatBytes(l.Bytes)
}
