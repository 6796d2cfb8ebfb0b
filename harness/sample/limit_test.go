package sample

import (
	"testing"
)

func TestLimit(t *testing.T) {
	for text, want := range map[string]struct {
		of   int64
		back string
	}{
		"512MiB": {512 << 20, "512 MiB"}, "5%": {50 << 20, "5%"}, "0": {0, "0 B"},
		"2.5 %": {25 << 20, "2.5%"}, "1GB": {1 << 30, "1.00 GiB"},
	} {
		l, err := ParseLimit(text)
		if err != nil || l.Of(1000<<20) != want.of || l.String() != want.back {
			t.Errorf("%s is %v, %d of 1000 MiB, %v", text, l, l.Of(1000<<20), err)
		}
	}
	for _, text := range []string{"", "x", "5", "-1", "-5%", "0%", "101%", "NaN%", "%"} {
		if l, err := ParseLimit(text); err == nil {
			t.Errorf("%q is %v", text, l)
		}
	}
}
