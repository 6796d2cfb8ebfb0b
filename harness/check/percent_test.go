package check

import "testing"

// TestPercentBelow: a share below the limit does not look like the limit.
func TestPercentBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0.5, "50.0 %"},
		{0.9497, "94.97 %"},
		{0.949999, "94.9999 %"},
		{0.95 - 1e-12, "95.000000 %"},
	} {
		if got := percentBelow(c.share, 0.95); got != c.want {
			t.Errorf("%v: %s, want %s", c.share, got, c.want)
		}
	}
}
