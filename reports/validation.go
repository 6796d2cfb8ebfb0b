package reports

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// A Validation is the answer whether a batch survives on a card. Sizes are bytes, times seconds; shares are of the card's total.
type Validation struct {
	Answer      Answer  `json:"answer"`
	Scenario    string  `json:"scenario"`
	Card        string  `json:"card"` // as given: "16GiB", "RTX 5080"
	Total       int64   `json:"total"`
	Files       int     `json:"files"`
	Failed      int     `json:"failed"`                 // files without enough memory
	FirstFailed int     `json:"first_failed,omitempty"` // from 1
	Speed       float64 `json:"speed"`                  // seconds of audio in a second, of the files that did not fail
	// Why says what makes the answer other than fits, in one clause.
	Why string `json:"why,omitempty"`

	Stages []StageNeed `json:"stages"`
	// Headroom is what is left of the card at the highest need, below 0 where it is more than the card has.
	Headroom int64 `json:"headroom"`
	// Larger is a card that holds what this one does not, or not well; nil where none was looked for.
	Larger        *LargerCard    `json:"larger_card,omitempty"`
	Fragmentation *FragmentedEnd `json:"fragmentation,omitempty"`
	// Retry is the first file in which the allocator had to give its cache back and ask again, 0 where there was none; Failure
	// the first allocation that failed, nil where there was none.
	Retry   int      `json:"first_retry,omitempty"`
	Failure *Refusal `json:"first_failure,omitempty"`

	// Smallest is the smallest change that makes the batch fit, Others are the smallest of other kinds, by cost. Simulations
	// counts the runs it took to find them, the first one included.
	Smallest    *Change  `json:"smallest_change,omitempty"`
	Others      []Change `json:"other_changes,omitempty"`
	Simulations int      `json:"simulations"`

	// Notes are findings on the log that were decided by what the card has to spare, a sentence each.
	Notes []string `json:"notes,omitempty"`

	// Footprints says of each stage whether it was estimated or measured, where a profile was given; Live is what the real
	// command needed.
	Footprints []Footprint `json:"footprints,omitempty"`
	Live       []Footprint `json:"live,omitempty"`
	// LiveFailed are the files of the real command that did not end well, or in which memory ran out.
	LiveFailed []LiveFailure `json:"live_failed,omitempty"`
}

// An Answer is what a validation comes to.
type Answer string

// The answers.
const (
	Fits       Answer = "fits"
	Tight      Answer = "tight" // it ran, and needs more than the policy's maximum of the card
	DoesNotFit Answer = "does not fit"
	Fails      Answer = "fits, but a check fails" // every file has its memory, and it is not given back
	Unsure     Answer = "undecided"
)

// A LargerCard is the smallest card of a table on which a batch fits.
type LargerCard struct {
	Card  string  `json:"card"`            // "24 GB"; "" where it fits on none
	UpTo  string  `json:"up_to"`           // the largest of the table
	Share float64 `json:"share,omitempty"` // of it
}

// A StageNeed is a stage at its highest need of the device: what is allocated, the context and others' memory. What the
// allocator keeps beyond that it gives back when asked. Where the batch does not fit, it is what the stage would need, and its
// share may be above 1; Allocated, Reserved and Used are what it came to on the card.
type StageNeed struct {
	Stage     string  `json:"stage"`
	Reached   bool    `json:"reached"` // by any file
	File      int     `json:"file"`    // from 1
	Need      int64   `json:"need"`
	Share     float64 `json:"share"`
	Allocated int64   `json:"allocated"` // of the need
	Reserved  int64   `json:"reserved"`  // on the card
	Used      int64   `json:"used"`      // of the card, the allocator's cache included
	// Cache is what the allocator holds beside that, and gives back when it must.
	Cache    int64  `json:"cache"`
	Parts    []Part `json:"parts"`    // of the need
	Measured bool   `json:"measured"` // its footprint is from a profile or a live run
}

// A Part is one of the things that a need is made up of: "weights of asr", "tensors: mel".
type Part struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// A FragmentedEnd is what the allocator held and did not hand out when files ended.
type FragmentedEnd struct {
	Files       int     `json:"files"`
	First       int64   `json:"first"` // reserved - allocated at the end of the first file
	Last        int64   `json:"last"`
	Most        int64   `json:"most"`
	PerFile     float64 `json:"per_file"`     // of a straight line through all files
	LargestFree int64   `json:"largest_free"` // block, when the last file ended
}

// A Refusal is an allocation for which there was no room at first.
type Refusal struct {
	File        int    `json:"file"`
	Stage       string `json:"stage"`
	What        string `json:"what,omitempty"`
	Requested   int64  `json:"requested"`
	FreeInSum   int64  `json:"free_in_sum"` // of the device, and in the allocator's cache
	LargestFree int64  `json:"largest_free"`
	// Missing is what the card lacks for all that was still to come, were all that is free in one piece; 0: nothing.
	Missing int64 `json:"missing,omitempty"`
	// Fragmentation says that enough was free for all that was still to come, only not in one piece.
	Fragmentation bool   `json:"fragmentation,omitempty"`
	Parts         []Part `json:"parts,omitempty"`   // of what was in use
	Picture       string `json:"picture,omitempty"` // the command line that draws it
	Message       string `json:"message,omitempty"` // PyTorch's
	// Recovered says that the file went on all the same.
	Recovered bool `json:"recovered,omitempty"`
}

// A Change is one or two edits, and what a simulation of all files with them came to.
type Change struct {
	Kind   string  `json:"kind"` // "allocator setting", "clear policy", "batch" ...
	Edits  []Edit  `json:"edits"`
	Answer Answer  `json:"answer"`
	Failed int     `json:"failed"`
	Files  int     `json:"files"`
	Need   int64   `json:"need"`
	Share  float64 `json:"share"`
	Speed  float64 `json:"speed"`         // seconds of audio in a second
	Cost   string  `json:"cost"`          // for a person
	Why    string  `json:"why,omitempty"` // the answer is not fits, in one clause
	// Timeless says that the file gives no time that depends on what is changed: the speed does not tell what it costs.
	Timeless bool `json:"timeless,omitempty"`
}

// An Edit is a value to be written in the place of another, or a line to be added.
type Edit struct {
	At     string `json:"at"` // file:line:column
	Key    string `json:"key"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Add    string `json:"add,omitempty"`    // the line of YAML, where the file has no old value
	Under  string `json:"under,omitempty"`  // the key of what Add is to be added to; "" is the file itself
	Export string `json:"export,omitempty"` // the line for a shell, of an environment variable
}

// A Footprint is a stage's need as it was estimated and as it was measured.
type Footprint struct {
	Stage     string  `json:"stage"`
	Measured  int64   `json:"measured,omitempty"` // 0 where it was not
	Estimated int64   `json:"estimated,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"` // measured / estimated
	Used      string  `json:"used"`            // "measured" or "estimated": by which the batch was validated
	Note      string  `json:"note,omitempty"`
}

// ValidationText writes a validation: the answer, what fails first and why, and the smallest change; below that what each stage
// needs, and what else was found. It is as wide as the terminal, and 100 columns elsewhere.
func ValidationText(w io.Writer, v *Validation, rep *check.Report, opts TextOptions) error {
	t := newTextWriter(opts)
	t.fold = true
	t.wrap(t.paint(rep.Verdict, strings.ToUpper(string(v.Answer)))+": "+validationHeadline(v), "  ")
	t.liveFailures(v.LiveFailed)
	t.refusal(v)
	if v.Answer == Fails || v.Answer == Unsure {
		t.found(v, rep)
	}
	if err := t.proposals(v); err != nil {
		return err
	}
	if err := t.stageNeeds(v); err != nil {
		return err
	}
	t.room(v)
	if v.Answer != Fails && v.Answer != Unsure {
		t.found(v, rep)
	}
	if err := t.footprints("Measured by the profile", v.Footprints); err != nil {
		return err
	}
	if err := t.footprints("Measured live", v.Live); err != nil {
		return err
	}
	return t.flush(w)
}

// validationHeadline is "long batch on RTX 5080 (15.5 GiB), 200 files: 49 fail, the first is file 52".
func validationHeadline(v *Validation) string {
	s := fmt.Sprintf("%s on %s, %s", clean(v.Scenario), cardName(v), plural(v.Files, "file"))
	switch {
	case v.Failed > 0 && v.Failed == v.Files:
		s += ": all fail; "
	case v.Failed == 1:
		s += ": file " + number(v.FirstFailed) + " fails; "
	case v.Failed > 0:
		s += fmt.Sprintf(": %s fail, the first is file %s; ", number(v.Failed), number(v.FirstFailed))
	case len(v.Stages) > 0:
		s += ": "
	}
	if len(v.Stages) > 0 {
		most := highest(v.Stages)
		s += fmt.Sprintf("needs up to %s (%s), in %s", parser.FormatBytes(most.Need), shareText(most.Share), clean(most.Stage))
	}
	switch l := v.Larger; {
	case l == nil:
	case l.Card == "":
		s += "; no card of up to " + l.UpTo + " holds it"
	default:
		s += fmt.Sprintf("; a card of %s holds it (%s)", l.Card, shareText(l.Share))
	}
	if v.Why != "" {
		s += "; " + clean(v.Why)
	}
	return s
}

func cardName(v *Validation) string {
	total := parser.FormatBytes(v.Total)
	if size, err := parser.ParseSize(v.Card); v.Card == "" || err == nil && size.Bytes == v.Total {
		return total
	}
	return clean(v.Card) + " (" + total + ")"
}

// highest is the stage with the highest need.
func highest(stages []StageNeed) StageNeed {
	most := stages[0]
	for _, s := range stages[1:] {
		if s.Need > most.Need {
			most = s
		}
	}
	return most
}

func shareText(share float64) string { return check.Quantity(share, check.Ratio) }
