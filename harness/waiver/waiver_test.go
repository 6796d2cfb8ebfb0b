package waiver_test

import (
	"testing"
	"time"

	"vramsoak/harness/waiver"
)

// TestHolds: a waiver holds up to the last moment of its last day in UTC, whatever the zone of the
// time.
func TestHolds(t *testing.T) {
	east := time.FixedZone("east", 9*60*60)
	for _, c := range []struct {
		until string
		at    time.Time
		want  bool
	}{
		{"2027-01-31", time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC), true},
		{"2027-01-31", time.Date(2027, 1, 31, 23, 59, 59, 999_999_999, time.UTC), true},
		{"2027-01-31", time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), false},
		{"2027-01-31", time.Date(2027, 2, 1, 8, 59, 0, 0, east), true},
		{"2027-01-31", time.Date(2027, 2, 1, 9, 0, 0, 0, east), false},
		{"2027-12-31", time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{"", time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC), true},
	} {
		if got := (waiver.Waiver{Until: c.until}).Holds(c.at); got != c.want {
			t.Errorf("until %q at %s: got %v, want %v", c.until, c.at, got, c.want)
		}
	}
}

func TestParseDay(t *testing.T) {
	for s, want := range map[string]bool{
		"2027-01-31": true, "2028-02-29": true,
		"2027-02-29": false, "2027-1-31": false, "31.01.2027": false, "2027-01-31T00:00:00Z": false,
		"0000-01-01": false, "soon": false, "": false,
	} {
		if got, ok := waiver.ParseDay(s); ok != want || ok && got != s {
			t.Errorf("%q: got %q, %v, want %v", s, got, ok, want)
		}
	}
}

func TestString(t *testing.T) {
	w := waiver.Waiver{Reason: "a larger model", Until: "2027-01-31"}
	for got, want := range map[string]string{
		w.String():                            "waived until 2027-01-31 (a larger model)",
		w.Ended():                             "the waiver ended on 2027-01-31 (a larger model)",
		waiver.Waiver{}.String():              "waived",
		waiver.Waiver{Until: w.Until}.Ended(): "the waiver ended on 2027-01-31",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
