package check

import (
	"encoding/json"
	"io"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Verdict is the outcome of a check, or of all of them.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"      // holds for every value that the printed digits allow
	Fail      Verdict = "fail"      // broken for every value that the printed digits allow
	Undecided Verdict = "undecided" // the log cannot tell; the message says what would decide it
	Skipped   Verdict = "skipped"   // the log has nothing to judge by; never the verdict of the whole
)

// Units of Finding.Measured and Finding.Limit.
const (
	Ratio        = "ratio" // 0.95 is 95 %
	PerFile      = "/file" // ends a unit that changes over files
	BytesPerFile = Bytes + PerFile
	PerReading   = "/reading" // ends a unit that changes over readings
	Count        = "count"
)

// A Finding is what one check found about one subject: a cleanup, a stage, a device, the batch.
type Finding struct {
	Check   string  `json:"check"` // one of Checks
	Verdict Verdict `json:"verdict"`
	Subject string  `json:"subject"` // "Whisper Cleanup"
	// File is the place in the batch (from 1) of the file that decided the verdict: the first that fails, or the worst
	// where none does. 0 where the finding is about no single file.
	File int `json:"file,omitempty"`
	// FirstFile is the file of a finding that fails: of growth the first that leaks, else the first that fails; nil where
	// nothing fails, or in no single file.
	FirstFile *FirstFile `json:"first_file,omitempty"`
	// Stage is the stage, or the cleanup, that it is about: of growth the one in which the memory is taken; "" where it is
	// about none, or the log does not tell.
	Stage string `json:"stage,omitempty"`
	// Measured and Limit are in Unit; nil where nothing was measured.
	Measured *float64 `json:"measured,omitempty"`
	Limit    *float64 `json:"limit,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Quantity is what a peak was decided by: "allocated", "used" (the process's device use), "buffers", "reserved" or
	// "device" (in use on the whole device, by any process); "" for other checks.
	Quantity string `json:"quantity,omitempty"`
	// Message is one sentence for a person: what was found, where, and what would decide or mend it.
	Message string `json:"message"`
	// At is the line of the log that shows it, of growth the first higher one; nil where it is about the whole log.
	At *record.Position `json:"at,omitempty"`
	// Gates says whether the policy lets this check decide the verdict of the whole.
	Gates bool `json:"gates"`
	// absent says that it passes because nothing speaks against it: no memory was seen to be given back.
	absent bool
	count  int // how many findings it sums; 0 for a single one
}

// A FirstFile identifies a file.
type FirstFile struct {
	Index int    `json:"index,omitempty"` // place in the batch, from 1; 0 for a file that was not fed
	Path  string `json:"path,omitempty"`  // as the log names it; "" where it does not
}

// in notes the file in which a finding failed.
func (f *Finding) in(file *timeline.File) {
	f.File = file.Index
	if f.Verdict == Fail && !file.Outside {
		f.FirstFile = &FirstFile{file.Index, file.Path}
	}
}

// HighWater is the largest reading of each kind in a log, in bytes; a field is 0 where the log has no such reading.
type HighWater struct {
	Allocated int64 `json:"allocated"`
	Reserved  int64 `json:"reserved"`
	Used      int64 `json:"used,omitempty"` // of the device, from checkpoints or samples
	Total     int64 `json:"total"`
}

// A PeakBy is the reading that decided the worst finding on a peak. It is of one device, unlike the
// largest readings of a [HighWater].
type PeakBy struct {
	Quantity string `json:"quantity"` // as in [Finding]
	Bytes    int64  `json:"bytes"`
	Total    int64  `json:"total,omitempty"` // the device's; 0 where it is not known
}

func (h *HighWater) add(r *record.Reading) {
	h.Allocated = max(h.Allocated, r.Bytes(record.Allocated), r.Bytes(record.Peak))
	h.Reserved = max(h.Reserved, r.Bytes(record.Reserved), r.Bytes(record.PeakReserved))
	h.Used = max(h.Used, r.Bytes(record.Used))
	h.Total = max(h.Total, r.Bytes(record.Total))
}

// A Trend is a series over the files of one process.
type Trend struct {
	Finding Finding // on it
	Unit    string
	Files   []*timeline.File
	Values  []float64 // one a file
	// Every says that it is over readings, not over files: a value is the lowest of so many readings
	// that follow one another. 0 is over files.
	Every int
	// Falls says that it is a fall that was looked for. Result is then on the values times -1.
	Falls  bool
	Result shape.Result
}

// Schema names the form of a Report in JSON.
const Schema = "vramsoak.verdict/1"

// A Report is the judgement of a timeline under a policy. Its JSON form is the machine-readable result of vramsoak.
type Report struct {
	Schema      string    `json:"schema"`
	Verdict     Verdict   `json:"verdict"`
	Files       int       `json:"files"`
	Checkpoints int       `json:"checkpoints"`
	HighWater   HighWater `json:"peak"`
	PeakBy      *PeakBy   `json:"peak_by,omitempty"` // nil where no peak was judged
	Findings    []Finding `json:"findings"`
	// Notes are what a reader should know beside the findings, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Unread are the checks on memory that would decide the verdict, where the log has no reading of it: none of them was made.
	Unread []string `json:"-"`
	// Recoveries are each cleanup and stage of each file that the timeline has checkpoints of, in the order of the log. They
	// are for reports to show; verdict.json does not have them.
	Recoveries []Recovered `json:"-"`
	// Policy is what it was judged by.
	Policy Policy `json:"-"`
	// found are the findings as they were made, before the policy's demands.
	found []Finding
	// Trends are the series over files that were judged, each in the process that decided its finding; nil where
	// [Judge.Trends] is not set. verdict.json does not have them.
	Trends []Trend `json:"-"`
	// Measured is what the run measured, file by file; nil where [Judge.Measures] is not set. verdict.json does not have it.
	Measured *Measurements `json:"-"`
}

// WriteJSON writes the report as one indented JSON object and a newline.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
