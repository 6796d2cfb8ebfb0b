package changepoint

import "math"

const (
	// MinRuns is the smallest number of values in which a change is searched.
	MinRuns = 9
	// minBefore is the smallest number of values before the newest ones that [Detector.young] tests,
	// and maxYoung is the largest number of newest values.
	minBefore = 4
	maxYoung  = 8
	// window is the length of the shortest window that is searched. Fewer values do not show how much
	// each night resembles the night before it.
	window = 40
	// memory is the number of values that show the noise of a candidate, if the series has as many.
	memory = 3 * window
	// reach is the number of values on each side of a change that show its noise in hindsight.
	reach = 4 * window
)

// A Change is a value at which a new level begins.
type Change struct {
	At   int     // index of the first value of the new level; more values may move it a little
	Seen int     // number of values when the change was found; no two changes have the same
	Step float64 // new level minus old level, when the change was found
	// Young is set while only the test of the newest values has found the change. That test assumes
	// normal noise.
	Young bool
}

// A Gone is a change that later values took back.
type Gone struct {
	Change
	Until int // number of values when it was taken back
	// Back is the number of newest values that lie at the old level again. It is 0 if the change is
	// not credible in hindsight.
	Back int
}

// A Detector judges a series value by value. It keeps each change that it has found, until later
// values take it back. It names those in Gone.
type Detector struct {
	Changes []Change // in ascending order
	Gone    []Gone   // in the order in which they were taken back

	level, resolution float64
	values            []float64
	done              []piece // the levels before the current one
	now               running // the current level
}

// NewDetector returns a detector for one series. In a series of normal noise, it ever finds a
// change with a probability of about level, however many values the series gets. The parameter
// resolution is half a unit of the last digit of the values: the detector assumes at least the
// noise that such rounding makes.
func NewDetector(level, resolution float64) *Detector {
	return &Detector{level: level, resolution: resolution}
}

// Add judges the next value, which must be finite.
func (d *Detector) Add(value float64) {
	d.values = append(d.values, value)
	d.now.add(value)
	if len(d.values) < MinRuns {
		return
	}
	if d.takeBack() {
		return // the same values must not make the same change again tonight
	}
	d.settle()
	best := candidate{p: d.nightly()}
	d.young(&best)
	d.windows(&best)
	if best.at > 0 {
		d.done = append(d.done, d.pieceOf(d.start(), best.at))
		d.Changes = append(d.Changes,
			Change{At: best.at, Seen: len(d.values), Step: best.step, Young: best.young})
		d.now = newRunning(d.values[best.at:])
	}
}

// nightly returns the p value that a change must reach tonight. It falls with the age t of the
// current level, because each night is one more chance of a false alarm. The sum of 1 / (t ln(t)^2)
// over all ages from 9 on is 0.47, so that all nights together get a part of the level. The part is
// calibrated: with it, histories of normal noise of 20 to 1,000 nights keep the level. See
// TestFalseAlarms.
func (d *Detector) nightly() float64 {
	return nightlyAt(max(MinRuns, len(d.values)-d.start()), d.level)
}

// nightlyAt returns what [Detector.nightly] returns at an age of the current level.
func nightlyAt(age int, level float64) float64 {
	const part = 0.4
	t := float64(age)
	log := math.Log(t)
	return part * level / (t * log * log)
}

// settle moves the newest change to its best position, each time that the number of values at the
// new level has doubled. Then and every few nights, it looks back at the changes.
func (d *Detector) settle() {
	last := len(d.Changes) - 1
	if last < 0 {
		return
	}
	c := &d.Changes[last]
	since := len(d.values) - c.At
	doubled := since >= maxYoung && since&(since-1) == 0
	if doubled {
		c.Young = false
		from := d.before(last)
		if at := from + place(d.values[from:], c.At-from); at != c.At {
			c.At = at
			d.done[last] = d.pieceOf(from, at)
			d.now = newRunning(d.values[at:])
		}
	}
	if doubled || len(d.values)%(window/4) == 0 {
		d.review(doubled)
	}
}

// start returns the index at which the current level begins.
func (d *Detector) start() int {
	if len(d.Changes) == 0 {
		return 0
	}
	return d.Changes[len(d.Changes)-1].At
}

// before returns the index at which the level before the change i begins.
func (d *Detector) before(i int) int {
	if i == 0 {
		return 0
	}
	return d.Changes[i-1].At
}

// end returns the end of the level that begins with the change i.
func (d *Detector) end(i int) int {
	if i+1 < len(d.Changes) {
		return d.Changes[i+1].At
	}
	return len(d.values)
}

// bounds returns the first index of each level between from and to, and then to itself. The result
// where is the index in bounds of the level that contains at.
func (d *Detector) bounds(from, at, to int) (bounds []int, where int) {
	from = max(0, from)
	bounds = []int{from}
	for _, c := range d.Changes {
		if c.At > from && c.At < to {
			bounds = append(bounds, c.At)
		}
		if c.At <= at {
			where = len(bounds) - 1
		}
	}
	return append(bounds, to), where
}

// pieceOf returns the scatter of the values between two indexes.
func (d *Detector) pieceOf(from, to int) piece {
	r := newRunning(d.values[from:to])
	return r.between(0, to-from)
}
