package main

import (
	"fmt"

	"vramsoak/harness/sample"
)

// deviceLimit reads --max-device-used: "90%" or "20GiB"; "" is no limit.
func deviceLimit(s string) (sample.Limit, error) {
	if s == "" {
		return sample.Limit{}, nil
	}
	limit, err := sample.ParseLimit(s)
	if err != nil || limit == (sample.Limit{}) {
		return sample.Limit{}, fmt.Errorf("--max-device-used: expected a share such as 90%% or a size such as 20GiB, found %q", s)
	}
	return limit, nil
}

// idleLimit reads --max-idle-used; nil is any amount.
func idleLimit(text string) (*sample.Limit, error) {
	if text == "" {
		return nil, nil
	}
	limit, err := sample.ParseLimit(text)
	if err != nil {
		return nil, fmt.Errorf("--max-idle-used: %w", err)
	}
	return &limit, nil
}
