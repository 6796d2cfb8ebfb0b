package sample

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Limit is an amount of a device's memory, in bytes or as a share. The zero value means that
// there is no limit.
type Limit struct {
	Bytes int64
	Share float64 // of the device's memory, 0 to 1; if it is above 0, Bytes does not count
}

// ParseLimit returns the limit that a text gives: an amount such as "512MiB" or "0", or a
// percentage such as "5%". It refuses a number without a unit, such as "5", because the user may
// mean an amount or a percentage.
func ParseLimit(s string) (Limit, error) {
	if strings.HasSuffix(s, "%") {
		if share, ok := record.ParseRatio(s); ok {
			return Limit{Share: share}, nil
		}
	} else if size, err := lex.ParseSize(s); err == nil && size.Bytes >= 0 {
		if _, bare := strconv.ParseFloat(s, 64); bare != nil || size.Bytes == 0 {
			return Limit{Bytes: size.Bytes}, nil
		}
	}
	return Limit{}, fmt.Errorf("expected an amount of memory such as 512MiB, "+
		"or a share such as 5%%, found %q", s)
}

// Validate returns an error unless the limit is the zero value, more than 0 bytes, or a Share above
// 0 and up to 1.
func (l Limit) Validate() error {
	if l != (Limit{}) && (l.Share < 0 || l.Share > 1 || l.Share == 0 && l.Bytes <= 0) {
		return errors.New("expected a limit of a device's use as a share above 0 and up to 1, " +
			"or as bytes above 0")
	}
	return nil
}

// Of returns the limit in bytes on a device that has total bytes of memory.
func (l Limit) Of(total int64) int64 {
	if l.Share > 0 {
		return int64(l.Share * float64(total))
	}
	return l.Bytes
}

// String returns the limit, rounded, in a form that [ParseLimit] reads.
func (l Limit) String() string {
	if l.Share > 0 {
		return strconv.FormatFloat(100*l.Share, 'f', -1, 64) + "%"
	}
	return record.FormatBytes(l.Bytes)
}
