package timeline

import (
	"cmp"
	"iter"
	"strconv"
	"time"

	"vramsoak/parser/record"
)

// A Timeline holds what the records of one or more logs say together, in the order of the logs.
type Timeline struct {
	// Runs are the runs of the harness, in order. A log without the harness's lines has none.
	Runs []Run
	// Files are the files in the order in which work on them began.
	Files []*File
	// Outside holds the parts of the logs between files, if they have checkpoints or
	// out-of-memory messages. For example, a pipeline loads its model before the first file. The
	// checkpoints of each part are paired as in a file.
	Outside []*File
	// Samples are the memory readings that the harness took while the pipeline was running.
	Samples []record.Sample
	// Limits are the limits of the pipeline's processes.
	Limits []record.Limits
	// Leftovers are the files in /dev/shm that the runs left behind.
	Leftovers []record.Leftover
	// Idles are the readings of the devices before the first process of a run and after its last one.
	Idles []record.Idle
	// Warnings are the pipeline's own warnings.
	Warnings []record.Warning
	// Exits are the ends of pipeline processes.
	Exits []record.Exit
	// Crashes are the crashes near the end of logs that lack the harness's lines.
	Crashes []CrashEnd
	// Orphans are the processes that the pipeline left behind.
	Orphans []record.Orphan
	// Bad holds the lines that look like records and cannot be read.
	Bad []record.SyntaxError
	// Quoted is the number of lines that have the harness's prefix but that the harness did not
	// write. These lines have no effect. FirstQuoted is the position of the first of them.
	Quoted      int
	FirstQuoted record.Position
	// Writers names the processes whose names say more than a rank, as in "pod/asr-1/main rank 1".
	// The keys are their ranks. The name is "" if the processes of a rank have several names.
	Writers map[int]string
	// Checkpoints is the number of checkpoints in files and outside of files.
	Checkpoints int
	// Lines is the number of line ends ('\n') that were read. A last line without a line end does
	// not count.
	Lines int
	// Between adds up what the pipeline said between files, or in a log without files.
	Between EventSum
	// Suggestions are the settings that the pipeline itself suggests.
	Suggestions []record.Event
	// Failures is the number of out-of-memory messages in files and outside of files.
	Failures int
	// Words is the number of events, warnings, and starts and ends of files that the pipeline printed.
	Words int
}

// A Run is one run of the harness.
type Run struct {
	Number int // the run's number, as in File.Run
	Batch  int // the batch's number, as in File.Batch
	Start  record.RunStart
	// Resumes are the resumes of the run, in order.
	Resumes []record.Resume
	// End is the last line of the run. It is nil if the run was killed before it could write this
	// line. If the run was resumed, End is that of the last part.
	End *record.RunEnd
	// Early says why the harness ended the run early, if it did. It is nil after a resume.
	Early *record.EarlyEnd
}

// A File is the work on one file of the batch. If the harness tries a file several times, each
// attempt is a File of its own.
type File struct {
	// Index is the file's position in the batch, from 1. It is 0 for a part of the log outside of
	// files, and for a file that the pipeline named although the harness did not give it to the
	// pipeline.
	Index        int
	Path         string // as the log gives it; "" if the log names no file
	AudioSeconds float64
	Status       record.Status
	Error        string  // why the file failed, if the pipeline said so
	Seconds      float64 // wall time from start to end; 0 if unknown
	// Writer is the name of the process that worked on the file, if the log is of several, see
	// [record.Header]. It is "" for rank 0, and in logs with the harness's lines.
	Writer string
	// Supervised is set if the log has the harness's lines. These lines say where files begin and
	// end, so the builder need not infer it.
	Supervised bool
	Outside    bool // this is not a file, but a part of the log between two files
	// Run is the number of the run, and Process the number of the pipeline process. Both count
	// from 0 over all logs. An allocator's levels can be compared only within one process.
	Run, Process int
	// Batch is the number of the batch to which this file belongs. It equals Run, with two exceptions.
	// If several workers share a batch, it is the number of the first worker's run. If several
	// processes print into one log without the harness's lines, each has a batch of its own.
	Batch int
	// Pos and EndPos are the positions of the file's first and last line.
	Pos, EndPos record.Position
	// Start and End are zero if the log has no times.
	Start, End time.Time

	Checkpoints []record.Checkpoint
	// Stages and Cleanups refer to Checkpoints by index. They are in the order of their Before
	// checkpoints.
	Stages   []Stage
	Cleanups []Cleanup
	// Unpaired holds the indices of the "Before ..." checkpoints for which the file has no After.
	Unpaired []int
	// OOMs are the out-of-memory messages during this file.
	OOMs []record.OutOfMemory
	// Events adds up what the pipeline said beside its checkpoints. It is nil if it said nothing. The
	// sum is complete when the file has ended.
	Events *EventSum
	// Held is what the pipeline's processes held of the machine, or nil if the log does not say.
	Held *Held
}

// A Held says what the pipeline's processes held of the machine around a file.
type Held struct {
	AtEnd *record.Holding // when the file had ended; nil if the log does not say
	// At is what they held at checkpoints, as far as the log says. Least has the smallest amount of
	// each resource at these checkpoints, and Early that at those before the file's last checkpoint.
	At           []HeldAt
	Least, Early record.Resources
}

// A HeldAt says what the pipeline's processes held at a checkpoint. Checkpoint is an index into the
// file's Checkpoints.
type HeldAt struct {
	Checkpoint int
	record.Resources
}

// A Stage is the work between a Before and an After checkpoint. Before and After are indices into
// the file's Checkpoints.
type Stage struct {
	Name          string // "Transcription"
	Before, After int
	Cleanups      int // number of cleanups whose innermost stage is this one
}

// A Cleanup is the work between a Before and an After checkpoint if that work frees memory, as
// between "Before Whisper Cleanup" and "After Whisper Cleanup". Before and After are indices into
// the file's Checkpoints.
type Cleanup struct {
	Name          string // "Whisper Cleanup"
	Before, After int
	// Stage is the index of the innermost stage around the cleanup, or -1 if no stage is around
	// it.
	Stage int
	// Last is set if this is the last cleanup in the stage around it. A cleanup in a stage inside
	// that stage counts too. Last is false if the cleanup is in no stage.
	Last bool
}

// Name returns the file's path, or "file 12" if the log gives no path. For a part of the log
// between files it returns "outside of files".
func (f *File) Name() string {
	switch {
	case f.Outside:
		return "outside of files"
	case f.Path != "":
		return f.Path
	}
	return "file " + strconv.Itoa(f.Index)
}

// LastAttempts returns the last attempt at each file of the batch, in the order of the log. It
// also returns every file whose Index is 0, because such a file cannot be matched with another
// attempt.
func (tl *Timeline) LastAttempts() []*File {
	repeated := func(a, b *File) bool {
		return a.Batch == b.Batch &&
			(a.Run != b.Run || a.Index <= b.Index)
	}
	once := true // true if no file was repeated, as in nearly all logs
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

// isLaterAttempt reports whether f is a later attempt than `other`, which precedes f in the list.
// The logs of two workers have no common order. So if only one of two attempts in different logs
// ended well, that attempt counts as the later one.
func (f *File) isLaterAttempt(other *File) bool {
	if f.Run == other.Run {
		return true
	}
	if ok := f.Status == record.StatusOK; ok != (other.Status == record.StatusOK) {
		return ok
	}
	return !f.Start.Before(other.Start)
}

// InOrder ranges over the files and the parts of the logs between them, in the order of the logs.
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

// All ranges over every checkpoint of the timeline, with the checkpoint's file. The checkpoints
// outside of files come first.
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
