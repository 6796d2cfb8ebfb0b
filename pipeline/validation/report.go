package validation

import (
	"fmt"

	"vramsoak/harness/check"
	"vramsoak/pipeline/profile"
)

// A Report is the answer of [Batch.Validate] to the question whether a batch fits on a card. Sizes
// are in bytes, times in seconds, and shares are parts of the card's total.
type Report struct {
	Answer      Answer `json:"answer"`
	Scenario    string `json:"scenario"`
	Card        string `json:"card"` // as given: "16GiB", "RTX 5080"
	Total       int64  `json:"total"`
	Files       int    `json:"files"`
	Failed      int    `json:"failed"`                 // files without enough memory
	FirstFailed int    `json:"first_failed,omitempty"` // from 1
	// Speed is seconds of audio per second of processing, without failed files.
	Speed float64 `json:"speed"`
	// Why gives the reason for an answer other than fits, in one clause, such as "leak of Enrollment
	// fails".
	Why string `json:"why,omitempty"`

	Stages []StageNeed `json:"stages"`
	// Headroom is the memory of the card minus the highest requirement. It is negative if the
	// requirement is larger than the card.
	Headroom int64 `json:"headroom"`
	// Larger is the smallest larger card on which the batch fits, if the answer for this card is not
	// fits; nil if validate did not search for one.
	Larger        *LargerCard    `json:"larger_card,omitempty"`
	Fragmentation *FragmentedEnd `json:"fragmentation,omitempty"`
	// Retry is the first file (from 1) in which the allocator had to release its cache and try again;
	// 0 if it never had to. Retries counts how often it had to, in each quarter of the files up to the
	// first failure; empty if it never had to.
	Retry   int       `json:"first_retry,omitempty"`
	Retries []Retries `json:"retries,omitempty"`
	// Failure is the first allocation that failed; nil if none did.
	Failure *Refusal `json:"first_failure,omitempty"`

	// Smallest is the cheapest change that makes the batch fit. Others are the cheapest changes of
	// other kinds, by cost. Simulations is the number of simulations, including the one without a
	// change.
	Smallest    *Change  `json:"smallest_change,omitempty"`
	Others      []Change `json:"other_changes,omitempty"`
	Simulations int      `json:"simulations"`

	// Notes lists the findings on growth that passed only because of the card's headroom, one sentence
	// each.
	Notes []string `json:"notes,omitempty"`

	// Footprints compares each stage's estimate with the profile, and Live with the real command. Each
	// is empty if there was no profile, or no live run.
	Footprints []profile.Comparison `json:"footprints,omitempty"`
	Live       []profile.Comparison `json:"live,omitempty"`
	// LiveFailed lists the files of the real command that failed, or in which memory ran out.
	LiveFailed []LiveFailure `json:"live_failed,omitempty"`

	// Checks is vramsoak check's report on the simulated log. Its verdict agrees with the answer.
	Checks *check.Report `json:"-"`
	// Refused are the changes that could not be tried, and why.
	Refused []error `json:"-"`
}

// A LargerCard is the smallest card of a table on which a batch fits.
type LargerCard struct {
	Card  string  `json:"card"`            // "24 GB"; "" if it fits on none
	UpTo  string  `json:"up_to"`           // the largest card of the table
	Share float64 `json:"share,omitempty"` // the part of Card that the batch takes
}

// A StageNeed is the highest requirement of a stage on the device: allocated memory, the CUDA
// context and the memory of other processes. The allocator's cache is not part of it, because the
// allocator releases the cache before an allocation fails. If the batch does not fit, Need is the
// memory that the stage would take on a card without limit, and Share may be above 1.
type StageNeed struct {
	Stage     string  `json:"stage"`
	Reached   bool    `json:"reached"` // a file got as far as this stage
	File      int     `json:"file"`    // that needed most, from 1; 0: before the first file
	Need      int64   `json:"need"`
	Share     float64 `json:"share"`
	Allocated int64   `json:"allocated"` // part of Need
	Reserved  int64   `json:"reserved"`  // by the allocator
	Used      int64   `json:"used"`      // on the card, with the allocator's cache
	Cache     int64   `json:"cache"`     // held by the allocator, not part of Need
	Parts     []Part  `json:"parts"`     // what Need is made up of
	Measured  bool    `json:"measured"`  // by a profile or a live run, not estimated
}

// A Part is a part of the memory that is needed or in use, such as "weights of asr" or "mel".
type Part struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// A FragmentedEnd says how much memory the allocator held without handing it out when files ended.
type FragmentedEnd struct {
	Files       int     `json:"files"`
	First       int64   `json:"first"` // reserved - allocated at the end of the first file
	Last        int64   `json:"last"`
	Most        int64   `json:"most"`
	PerFile     float64 `json:"per_file"`     // slope of a straight line through all files
	LargestFree int64   `json:"largest_free"` // largest free block when the last file ended
}

// A Refusal is an allocation that failed, with the memory at that time.
type Refusal struct {
	File        int    `json:"file"`
	Stage       string `json:"stage"`
	What        string `json:"what,omitempty"`
	Requested   int64  `json:"requested"`
	FreeInSum   int64  `json:"free_in_sum"` // on the device, and in the allocator's cache
	LargestFree int64  `json:"largest_free"`
	// Missing is the number of bytes that the card lacks for the rest of the work, even if all free
	// memory were in one piece.
	Missing int64 `json:"missing,omitempty"`
	// Fragmentation is true if enough memory was free for the rest of the work, but not in one piece.
	Fragmentation bool   `json:"fragmentation,omitempty"`
	Parts         []Part `json:"parts,omitempty"`   // the memory in use at that time
	Kept          []Part `json:"kept,omitempty"`    // the part of it that is kept after use
	Picture       string `json:"picture,omitempty"` // the command line that draws the memory
	Message       string `json:"message,omitempty"` // PyTorch's error message
	// Recovered is true if the pipeline went on with the file.
	Recovered bool `json:"recovered,omitempty"`
}

// Retries counts the allocations that failed at first in some consecutive files. For each, the
// allocator released its cache and tried again.
type Retries struct {
	From  int `json:"from"` // files, from 1
	To    int `json:"to"`
	Count int `json:"count"`
}

// A LiveFailure is a file of the real command that failed, or in which memory ran out.
type LiveFailure struct {
	File int    `json:"file"` // from 1
	Path string `json:"path"`
	// Status is the status in the log's file-end line: "failed", "crashed", "timeout", "oom", or
	// "ok" if the pipeline went on with the file.
	Status      string   `json:"status"`
	OutOfMemory bool     `json:"out_of_memory,omitempty"`
	Says        []string `json:"says"` // the last lines that the pipeline printed for it
}

// A Location is a place in a scenario file.
type Location struct {
	Path         string
	Line, Column int // from 1
}

func (l Location) String() string { return fmt.Sprintf("%s:%d:%d", l.Path, l.Line, l.Column) }

// MarshalText writes a location as "pipeline.yaml:12:10".
func (l Location) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
