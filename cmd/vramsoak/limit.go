package main

import (
	"fmt"
	"strconv"

	"vramsoak/harness"
)

// deviceLimit reads --max-device-used: "90%" or "20GiB"; "" is no limit.
func deviceLimit(s string) (harness.Limit, error) {
	if s == "" {
		return harness.Limit{}, nil
	}
	limit, err := harness.ParseLimit(s)
	if _, bare := strconv.ParseFloat(s, 64); err != nil || bare == nil || limit == (harness.Limit{}) {
		return harness.Limit{}, fmt.Errorf("--max-device-used: expected a share such as 90%% or a size such as 20GiB, found %q", s)
	}
	return limit, nil
}
