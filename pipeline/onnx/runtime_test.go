package onnx

import "testing"

func TestLimitsFollowTheRuntime(t *testing.T) {
	for version, want := range map[string][2]int64{
		"1.17.1": {9, 20}, "1.18.0": {10, 21},
		"1.20.1": {10, 21}, "1.23.2": {0, 0}, "2.0.0": {0, 0}, "": {0, 0},
	} {
		if got := limitsOf(version); got.ir != want[0] || got.opset != want[1] {
			t.Errorf("ONNX Runtime %q: expected IR and opset %v, found %+v", version, want, got)
		}
	}
}
