package strictyaml_test

import (
	"testing"

	"vramsoak/parser/strictyaml"
)

// TestDistance has distances counted by hand: letters inserted, deleted, changed, or swapped with a
// neighbour.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "leak", 4},
		{"leak", "leak", 0},
		{"leaks", "leak", 1},
		{"flor", "floor", 1},
		{"max_shrae", "max_share", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // a distance that may change a swapped letter again would give 2
	} {
		if there, back := strictyaml.Distance(c.a, c.b), strictyaml.Distance(c.b,
			c.a); there != c.want || back != c.want {
			t.Errorf("%q to %q: got %d and back %d, want %d", c.a, c.b, there, back, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"recovery", "leak", "peak"}
	for name, want := range map[string]string{
		"LEAKS": "leak", "recvoery": "recovery",
		"leap": "leak", "l": "", "": "", "drift": "",
	} {
		if got := strictyaml.Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
