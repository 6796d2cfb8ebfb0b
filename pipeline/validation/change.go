package validation

import (
	"slices"
	"strings"
)

// An Answer says whether a batch survives on a card. A smaller one is better.
type Answer int

// The answers.
const (
	Fits       Answer = iota
	Unsure            // every file has its memory, and a check cannot tell
	Tight             // every file has its memory, and the card is nearly full
	Fails             // every file has its memory, and a check fails, such as one on what is given back
	DoesNotFit        // an allocation failed for good
)

// A Result is what a simulation came to.
type Result struct {
	Answer        Answer
	Files, Failed int
	FirstFailed   int     // file, from 1; 0: none
	Need          int64   // the most that the device had to hold, in bytes: see StageNeed
	Share         float64 // of the card
	Speed         float64 // seconds of audio in a second
	Why           string  // the answer is not fits, in one clause; "" where the need says it
}

// A Kind is a kind of change. They are in the order of what they cost: the earlier is the smaller change.
type Kind int

// The kinds of changes.
const (
	Setting Kind = iota // of the allocator: one environment variable, and no time
	Start               // ends what a crashed run left on the card, before the first file: nothing but care
	Clear               // when the allocator gives its cache back: some percent of the time
	Batch               // fewer items a pass: throughput
	Restart             // a new process after N files: the models are loaded anew
	Format              // of a model's numbers: a little accuracy
	Smaller             // model of the family: accuracy
	Code                // of the pipeline: what it keeps though it needs it no more
)

func (k Kind) String() string {
	return [...]string{
		"allocator setting", "clean start", "clear policy", "batch", "restart", "number format", "smaller model", "pipeline's code",
	}[k]
}

// nothing is what a change costs that is only to be made.
const nothing = "nothing"

// Cost is what a change of the kind costs, for a person.
func (k Kind) Cost() string {
	return [...]string{
		nothing, nothing, "time", "throughput", "time to load the models", "a little accuracy", "accuracy", "work",
	}[k]
}

// A Change is one or two edits of the scenario file, and what came of them.
type Change struct {
	Kinds []Kind
	Edits []Edit
	Result

	step int // of its line
}

// Kind names the kinds of a change: "batch", "allocator setting and batch".
func (c Change) Kind() string {
	var names []string
	for _, k := range slices.Backward(c.dearestFirst()) {
		names = append(names, k.String())
	}
	return strings.Join(slices.Compact(names), " and ")
}

// Cost is what a change costs, for a person.
func (c Change) Cost() string {
	var names []string
	for _, k := range slices.Backward(c.dearestFirst()) {
		if cost := k.Cost(); cost != nothing {
			names = append(names, cost)
		}
	}
	if len(names) == 0 {
		return nothing
	}
	return strings.Join(slices.Compact(names), ", ")
}

// Text is the edits in one line.
func (c Change) Text() string {
	var edits []string
	for _, e := range c.Edits {
		edits = append(edits, e.Key+": "+e.New)
	}
	return strings.Join(edits, ", ")
}

func (c Change) dearestFirst() []Kind {
	kinds := slices.Clone(c.Kinds)
	slices.Sort(kinds)
	slices.Reverse(kinds)
	return kinds
}
