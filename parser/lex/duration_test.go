package lex

import "testing"

func TestCutDuration(t *testing.T) {
	for _, c := range []struct {
		text    string
		seconds float64
		rest    string
	}{
		{"12.3s (40.7 emb/sec)", 12.3, " (40.7 emb/sec)"},
		{"900ms", 0.9, ""},
		{"12.5 seconds.", 12.5, "."},
		{"2m 8s", 128, ""},
		{"2m8s", 128, ""},
		{"2moons", 0, "2moons"},
		{"1 h 2 min", 3720, ""},
		{"3 hours", 10800, ""},
		{"12:34", 754, ""},
		{"12:34.567", 754.567, ""},
		{"00:12:34.567", 754.567, ""},
		{"01:02:50,572", 3770.572, ""},
		{"75:00", 4500, ""},
		{"12:34 and more", 754, " and more"},
		{"12:75", 0, "12:75"},
		{"1:61:00", 0, "1:61:00"},
		{"12:3", 0, "12:3"},
		{"12", 0, "12"},
		{"12 samples", 0, "12 samples"},
		{"-3s", 0, "-3s"},
		{"XX:XX", 0, "XX:XX"},
		{"", 0, ""},
	} {
		seconds, rest, ok := CutDuration([]byte(c.text))
		if seconds != c.seconds || string(rest) != c.rest || ok != (c.seconds > 0) {
			t.Errorf("%q: got %g, %q and %t, want %g, %q", c.text, seconds, rest, ok, c.seconds, c.rest)
		}
	}
}
