// Package waiver holds what all waivers of known findings have in common: a reason, and the last
// day on which the waiver holds. The policy file has waivers of findings (package check), and a
// history has waivers of regressions (package history).
//
//	w := waiver.Waiver{Reason: "torch 2.4 keeps a buffer", Until: "2027-01-31"}
//	if w.Holds(endOfRun) {
//		message = w.String() + ": " + message
//	}
package waiver

import (
	"time"
)

// A Waiver says why a known finding is accepted for a while. What it covers is up to its owner.
type Waiver struct {
	Reason string `json:"reason"`
	// Until is the last day on which the waiver holds, in UTC: "2027-01-31". If it is "", the waiver
	// has no end.
	Until string `json:"until,omitempty"`
}

// ParseDay returns the day s as [Waiver.Until] has it. The boolean is false if s is no day in the
// form 2027-01-31.
func ParseDay(s string) (string, bool) {
	day, err := time.Parse(time.DateOnly, s)
	return s, err == nil && day.Year() > 0
}

// Day returns the day of a time, in UTC, as [Waiver.Until] has it.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Holds reports whether the waiver has not ended at a time. ISO dates sort like the days.
func (w Waiver) Holds(at time.Time) bool { return w.Until == "" || Day(at) <= w.Until }

// String returns the waiver for a message: "waived until 2027-01-31 (torch 2.4 keeps a buffer)".
func (w Waiver) String() string {
	s := "waived"
	if w.Until != "" {
		s += " until " + w.Until
	}
	return s + w.reason()
}

// Ended returns for a message that the waiver has ended: "the waiver ended on 2027-01-31 (torch 2.4
// keeps a buffer)".
func (w Waiver) Ended() string { return "the waiver ended on " + w.Until + w.reason() }

func (w Waiver) reason() string {
	if w.Reason == "" {
		return ""
	}
	return " (" + w.Reason + ")"
}
