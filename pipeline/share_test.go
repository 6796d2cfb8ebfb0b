package pipeline

import (
	"flag"
	"testing"
)

func TestShare(t *testing.T) {
	const free = 16 << 30
	for text, want := range map[string]int64{
		"1/8": 2 << 30, "12.5%": 2 << 30, " 1 / 4 ": 4 << 30, "100%": free, "3/4": 12 << 30,
		"1/1":    free,
		"512MiB": 512 << 20, "1.5GB": 3 << 29, "64GiB": free, "4096B": 4096,
	} {
		var s Share
		if err := s.Set(text); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := s.Of(free); got != want {
			t.Errorf("%q of 16 GiB: expected %d, found %d", text, want, got)
		}
	}
	for _, text := range []string{
		"", "0", "0%", "0/8", "9/8", "101%", "-1/8", "1/0", "0/0", "1/", "/8", "%", "a/b", "1/2/3",
		"NaN%", "1/Inf", "Inf/Inf",
		"-512MiB", "512Mega", "2", "0.5", "4096", "1/8%", "nothing",
	} {
		s := Fraction(8)
		if err := s.Set(text); err == nil {
			t.Errorf("%q: expected an error, found %+v", text, s)
		} else if s != Fraction(8) {
			t.Errorf("%q: the value changed to %+v despite the error", text, s)
		}
	}
	var _ flag.Value = new(Share)
	var all Share
	if eighth := Fraction(8); all.Of(free) != free || eighth.Of(free) != 2<<30 ||
		eighth.String() != "1/8" || all.Of(0) != 0 {
		t.Errorf("found %d for all and %d for an eighth", all.Of(free), eighth.Of(free))
	}
}
