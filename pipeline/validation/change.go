package validation

import (
	"cmp"
	"slices"
	"strings"
)

// An Answer says whether a batch survives on a card. A smaller number is a better answer.
type Answer int

// The answers, from the best to the worst.
const (
	Fits       Answer = iota
	Unsure            // every file has its memory, and a check is undecided
	Tight             // every file has its memory, and the need is above the policy's maximum
	Fails             // every file has its memory, and a check fails, such as the check for leaks
	DoesNotFit        // an allocation failed for good
)

func (a Answer) String() string {
	return [...]string{"fits", "undecided", "tight", "fits, but a check fails", "does not fit"}[a]
}

// MarshalText writes an answer in the words of [Answer.String].
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Clause returns an answer as the rest of a sentence about a batch, such as "it does not fit".
func (a Answer) Clause() string {
	return "it " + [...]string{"fits", "fits", "is tight", "fails a check", "does not fit"}[a]
}

// A Result is the outcome of a simulation.
type Result struct {
	Answer      Answer `json:"answer"`
	Failed      int    `json:"failed"`
	Files       int    `json:"files"`
	FirstFailed int    `json:"-"` // number of the first file that failed, from 1; 0: none failed
	// The most memory that the device had to hold, in bytes: see StageNeed.
	Need  int64   `json:"need"`
	Share float64 `json:"share"` // of the card
	Speed float64 `json:"speed"` // seconds of audio per second of processing
	// Why gives the reason for an answer other than fits, in one clause. Why is "" if the numbers
	// in Need and Share are the reason.
	Why string `json:"why,omitempty"`
}

// A Kind is a kind of change. The kinds are in the order of their cost, from the cheapest on.
type Kind int

// The kinds of changes.
const (
	Setting Kind = iota // another setting of the allocator: costs no time
	// Start ends the processes that a crashed run left on the card, before the first file. It costs no
	// time.
	Start
	Clear // empty the allocator's cache more often: costs some percent of the time
	// Accumulation makes a training step of several smaller passes. The step computes the same: costs
	// throughput.
	Accumulation
	// Checkpointing computes activations again in the backward pass: costs time.
	Checkpointing
	BatchSize // fewer items in a pass: costs throughput
	Format    // another number format of a model: costs a little accuracy
	Freeze    // fewer layers of a model train: costs perhaps accuracy
	Value     // another value of a parameter: costs what the file says
	Restart   // a new process after N files: costs time, the models are loaded anew
	Smaller   // a smaller model of the same family: costs accuracy
	Code      // a correction of the pipeline's own code: costs work
)

func (k Kind) String() string {
	return [...]string{
		"allocator setting", "clean start", "clear policy", "gradient accumulation",
		"gradient checkpointing", "batch", "number format", "frozen layers", "parameter", "restart",
		"smaller model", "pipeline's code",
	}[k]
}

// nothing is the text of Cost for a change that takes no time, accuracy or work.
const nothing = "nothing"

// Cost returns in words what a change of the kind costs, such as "throughput".
func (k Kind) Cost() string {
	return [...]string{
		nothing, nothing, "time", "throughput", "a fifth to a third more time", "throughput",
		"a little accuracy", "perhaps accuracy", "", "time to load the models", "accuracy", "work",
	}[k]
}

// A Change is one or more edits of the scenario file, and the outcome of a simulation with them.
type Change struct {
	Kind  string `json:"kind"` // "batch", "allocator setting and batch"
	Edits []Edit `json:"edits"`
	Result
	Cost string `json:"cost"` // in words
	// Timeless is true if the change makes a batch smaller and the scenario file gives the stage a
	// time that does not depend on the batch. The simulated speed then does not show how much slower
	// the change makes the pipeline.
	Timeless bool `json:"timeless,omitempty"`

	kinds []Kind
	step  int // index among its candidates
}

func newChange(edits []Edit, kinds ...Kind) Change {
	c := Change{Edits: edits, kinds: kinds}
	var names, costs []string
	for _, k := range slices.Sorted(slices.Values(kinds)) {
		names = append(names, k.String())
		if cost := k.Cost(); cost != nothing && cost != "" {
			costs = append(costs, cost)
		}
	}
	for _, e := range edits {
		if e.cost != "" {
			costs = append(costs, e.cost)
		}
	}
	c.Kind = strings.Join(slices.Compact(names), " and ")
	c.Cost = cmp.Or(strings.Join(slices.Compact(costs), ", "), nothing)
	return c
}

// Text returns the edits in one line: "stages[0].batch: 4, clear.cleanups: true".
func (c Change) Text() string {
	var edits []string
	for _, e := range c.Edits {
		edits = append(edits, e.Key+": "+e.New)
	}
	return strings.Join(edits, ", ")
}

func (c Change) costliestFirst() []Kind {
	kinds := slices.Clone(c.kinds)
	slices.Sort(kinds)
	slices.Reverse(kinds)
	return kinds
}
