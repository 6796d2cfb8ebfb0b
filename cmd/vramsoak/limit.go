package main

import (
	"fmt"

	"vramsoak/harness"
)

// deviceLimit reads --max-device-used: "90%" or "20GiB"; "" is no limit.
func deviceLimit(s string) (harness.Limit, error) {
	if s == "" {
		return harness.Limit{}, nil
	}
	limit, err := harness.ParseLimit(s)
	if err != nil || limit == (harness.Limit{}) {
		return harness.Limit{}, fmt.Errorf("--max-device-used: expected a share such as 90%% or a size such as 20GiB, found %q", s)
	}
	return limit, nil
}

// idleLimit reads --max-idle-used; nil is any amount.
func idleLimit(text string) (*harness.Limit, error) {
	if text == "" {
		return nil, nil
	}
	limit, err := harness.ParseLimit(text)
	if err != nil {
		return nil, fmt.Errorf("--max-idle-used: %w", err)
	}
	return &limit, nil
}
