package timeline

import (
	"cmp"
	"iter"
	"strconv"
	"time"

	"vramsoak/parser/record"
)

// A Timeline holds what the records of logs say together, in the order of the logs.
type Timeline struct {
	// Runs are the harness's runs in the log, in order. A log without the harness's lines has none.
	Runs []Run
	// Files are the files in the order in which work on them began.
	Files []*File
	// Outside holds the stretches between files that have checkpoints or out-of-memory messages, such
	// as the loading of a model before the first file. Each is paired like a file.
	Outside []*File
	// Samples are the measurements that the harness took of the process from outside.
	Samples []record.Sample
	// Idles are the readings of the devices before the first process of a run and after its last one.
	Idles []record.Idle
	// Warnings are the pipeline's own warnings.
	Warnings []record.Warning
	// Exits are the ends of pipeline processes.
	Exits []record.Exit
	// Crashes are the crashes at the end of logs without the harness's lines.
	Crashes []CrashEnd
	// Orphans are the processes that the pipeline left behind.
	Orphans []record.Orphan
	// Bad holds the lines that look like records and cannot be read.
	Bad []record.SyntaxError
	// Quoted is the number of lines with the harness's prefix that the harness did not write. Their
	// words do not count. FirstQuoted is the first of them.
	Quoted      int
	FirstQuoted record.Position
	// Checkpoints is the number of checkpoints read, in files or outside.
	Checkpoints int
	// Lines is the number of line ends read.
	Lines int
	// Failures is the number of out-of-memory messages read, in files or outside.
	Failures int
	// Words is the number of events, warnings and names of files that the pipeline printed.
	Words int
}

// A Run is one run of the harness.
type Run struct {
	Number int // as in File.Run
	Batch  int // as in File.Batch
	Start  record.RunStart
	// Resumes are the places where the run was resumed.
	Resumes []record.Resume
	// End is nil if the run, or its last part, was killed before it could write its last line.
	End *record.RunEnd
}

// A File is the work on one file of the batch.
type File struct {
	// Index is the position in the batch, from 1. It is 0 outside of files, and for a file that the
	// pipeline named and nobody fed.
	Index        int
	Path         string // as the log names it; "" where it does not
	Outside      bool   // not a file, but a stretch between files
	AudioSeconds float64
	Status       record.Status
	Error        string  // why it failed, if the pipeline said so
	Seconds      float64 // wall time from start to end, 0 where unknown
	// Supervised is set if the log has the harness's lines. Files, their ends and processes are then
	// known and not inferred.
	Supervised bool
	// Run counts the runs from 0, and Process the pipeline's processes, over all logs. Levels of an
	// allocator are comparable within a process.
	Run, Process int
	// Batch is the run that counts the files: Run, or the first worker's run if several workers had a
	// part of the batch.
	Batch int
	// Pos and EndPos are the file's first and last line in the log.
	Pos, EndPos record.Position
	// Start and End are zero where the log has no times.
	Start, End time.Time

	Checkpoints []record.Checkpoint
	// Stages and Cleanups refer to Checkpoints by index and are in the order of their Before.
	Stages   []Stage
	Cleanups []Cleanup
	// Unpaired holds the indices of "Before ..." checkpoints without an After.
	Unpaired []int
	// OOMs are the out-of-memory messages during this file.
	OOMs []record.OutOfMemory
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
	// Stage is the index of the innermost stage that encloses the cleanup, or -1 without one.
	Stage int
	// Last is set if no later cleanup lies in the same stage or in a stage within it. It is false
	// without a stage.
	Last bool
}

// Name returns the file's path, or "file 12" if the log names none.
func (f *File) Name() string {
	switch {
	case f.Outside:
		return "outside of files"
	case f.Path != "":
		return f.Path
	}
	return "file " + strconv.Itoa(f.Index)
}

// LastAttempts returns the last attempt at each file, in the order of the log. A file that was not
// fed has no position in the batch and is no attempt at another.
func (tl *Timeline) LastAttempts() []*File {
	repeated := func(a, b *File) bool {
		return a.Batch == b.Batch &&
			(a.Run != b.Run || a.Index <= b.Index)
	}
	once := true // no file was repeated, as nearly always
	for i := 1; i < len(tl.Files); i++ {
		once = once && !repeated(tl.Files[i], tl.Files[i-1])
	}
	type position struct{ batch, index int }
	last := map[position]int{}
	if !once {
		for i, f := range tl.Files {
			at := position{f.Batch, f.Index}
			if before, known := last[at]; !known || f.isLaterAttempt(tl.Files[before]) {
				last[at] = i
			}
		}
	}
	var files []*File
	for i := range tl.Files {
		if f := tl.Files[i]; once || f.Index == 0 || last[position{f.Batch, f.Index}] == i {
			files = append(files, f)
		}
	}
	return files
}

// isLaterAttempt reports whether f is a later attempt than an earlier one in the list. The logs of
// two workers have no order, so the one that ended well counts as the later.
func (f *File) isLaterAttempt(other *File) bool {
	if f.Run == other.Run {
		return true
	}
	if ok := f.Status == record.StatusOK; ok != (other.Status == record.StatusOK) {
		return ok
	}
	return !f.Start.Before(other.Start)
}

// InOrder ranges over the files, and the stretches between them, in the order of the logs.
func (tl *Timeline) InOrder() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		files, outside := tl.Files, tl.Outside
		for len(files)+len(outside) > 0 {
			next := &outside
			if len(outside) == 0 || len(files) > 0 && cmp.Or(files[0].Run-outside[0].Run,
				files[0].Pos.Line-outside[0].Pos.Line) < 0 {
				next = &files
			}
			if !yield((*next)[0]) {
				return
			}
			*next = (*next)[1:]
		}
	}
}

// All ranges over every checkpoint of the timeline: first those outside of files, then those in
// files.
func (tl *Timeline) All() iter.Seq2[*File, *record.Checkpoint] {
	return func(yield func(*File, *record.Checkpoint) bool) {
		for _, files := range [][]*File{tl.Outside, tl.Files} {
			for i := range files {
				for j := range files[i].Checkpoints {
					if !yield(files[i], &files[i].Checkpoints[j]) {
						return
					}
				}
			}
		}
	}
}
