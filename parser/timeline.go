package parser

import (
	"iter"
	"strconv"
	"time"
)

// A Timeline is what the records of a log say together, in the order of the log.
type Timeline struct {
	// Runs are the harness's runs that the log holds, in order; empty for a log without the harness's lines.
	Runs []Run
	// Files are the files in the order in which work on them began.
	Files []File
	// Outside are checkpoints that belong to no file: a model that is loaded before the first file.
	Outside []Checkpoint
	// Samples are the harness's looks at the process from outside.
	Samples []Sample
	// OOMs are the out-of-memory messages, those inside files too.
	OOMs []OutOfMemory
	// Warnings are the pipeline's own warnings.
	Warnings []Warning
	// Exits are the ends of pipeline processes.
	Exits []Exit
	// Bad are the lines that look like records and cannot be read.
	Bad []SyntaxError
	// Checkpoints is the number of checkpoints read, in files or outside.
	Checkpoints int
	// Supervised says that the log has the harness's lines, so that files, their ends and processes are known, not
	// inferred.
	Supervised bool
}

// A Run is one run of the harness.
type Run struct {
	Start RunStart
	// End is nil where the run was killed before it could write its last line.
	End *RunEnd
}

// A File is the work on one file of the batch.
type File struct {
	Index        int    // place in the batch, from 1
	Path         string // as the log names it; "" where it does not
	AudioSeconds float64
	Status       Status
	Error        string  // why it failed, where the pipeline said so
	Seconds      float64 // wall time from start to end, 0 where unknown
	// Process counts the pipeline's processes from 0; allocator levels are comparable within one.
	Process int
	// Pos and EndPos are the file's first and last line in the log.
	Pos, EndPos Position
	// Start and End are zero where the log has no times.
	Start, End time.Time

	Checkpoints []Checkpoint
	// Stages and Cleanups refer to Checkpoints by index and are in the order of their Before.
	Stages   []Stage
	Cleanups []Cleanup
	// Unpaired are indices of "Before ..." checkpoints that have no After, and of "After ..." that have no Before.
	Unpaired []int
	// OOMs are the out-of-memory messages during this file.
	OOMs []OutOfMemory
}

// A Stage is a Before/After pair around work, as indices into the file's checkpoints.
type Stage struct {
	Name          string // "Transcription"
	Before, After int
	Cleanups      int // number of cleanups whose innermost stage it is
}

// A Cleanup is a Before/After pair around something freed, as indices into the file's checkpoints.
type Cleanup struct {
	Name          string // "Whisper Cleanup"
	Before, After int
	// Stage is the index of the innermost stage that encloses the cleanup, -1 where there is none.
	Stage int
	// Last says that no later cleanup lies in the same stage; always false without a stage.
	Last bool
}

// Name is the file's path, or "file 12" where the log names none.
func (f *File) Name() string {
	if f.Path != "" {
		return f.Path
	}
	return "file " + strconv.Itoa(f.Index)
}

// All ranges over every checkpoint of the timeline: first those outside of files, with a nil file, then those in files.
func (tl *Timeline) All() iter.Seq2[*File, *Checkpoint] {
	return func(yield func(*File, *Checkpoint) bool) {
		for i := range tl.Outside {
			if !yield(nil, &tl.Outside[i]) {
				return
			}
		}
		for i := range tl.Files {
			f := &tl.Files[i]
			for j := range f.Checkpoints {
				if !yield(f, &f.Checkpoints[j]) {
					return
				}
			}
		}
	}
}
