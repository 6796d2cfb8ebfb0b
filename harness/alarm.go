package harness

import "time"

// An alarm is a timer that fires when a time limit has passed since a start that can be moved.
type alarm struct {
	rings <-chan time.Time // nil if there is no limit
	timer *time.Timer
	limit time.Duration
	start time.Time
}

func newAlarm(limit time.Duration) *alarm {
	a := &alarm{limit: limit}
	if limit > 0 {
		a.timer = time.NewTimer(limit)
		a.rings = a.timer.C
	}
	return a
}

// set restarts the timer for the given start, unless the timer already has that start.
func (a *alarm) set(start time.Time) {
	if a.timer != nil && !start.Equal(a.start) {
		a.start = start
		a.timer.Reset(time.Until(start.Add(a.limit)))
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
