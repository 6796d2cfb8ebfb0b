package timeline

import (
	"fmt"
	"slices"
	"strconv"

	"vramsoak/parser/record"
)

// Several processes may print into one log, each behind a prefix with its name, see
// [record.Header]. Each of them works on files of its own. So a log without the harness's lines has
// a stream for each process. A stream has a builder, with files and a batch of its own, as if its
// lines were a log of their own. A process has a stream once it prints a checkpoint, names a file
// or, if it has a name, fails; see [heldFailures]. In a log with the harness's lines, these lines
// say where files begin, and the ranks of the readings tell the processes apart.

// streams holds the streams of a log, apart from the builder's own.
type streams struct {
	// writer is the process whose records the log's own builder takes. It is known once decided is
	// set.
	writer  string
	name    string // of writer, see [shownName]
	decided bool
	byName  map[string]*Builder
	all     []*Builder
	// ended lists the files of all streams in the order in which they ended. It is kept once there
	// is a second stream.
	ended []*File
	ranks map[string]int // the rank of each process that has a name
	taken map[int]bool   // these ranks
	free  int            // every rank below is taken
	held  []heldFailures
}

// unnamed reports whether all lines so far came without the name of a process.
func (s *streams) unnamed() bool {
	return s.decided && s.writer == "" && s.byName == nil && s.ranks == nil && len(s.held) == 0
}

// has reports whether the process has a stream.
func (s *streams) has(writer string) bool {
	return s.decided && s.writer == writer || s.byName[writer] != nil
}

// maxStreams is the most streams of a log. The records of further processes are not used, and the
// log is not judged as a whole.
const maxStreams = 1 << 15

// A numbering counts the runs and processes of all streams and all logs.
type numbering struct{ run, process int }

// streamName returns the name of the stream that takes the lines of the process with this name.
// Lines without a rank are of rank 0: torch.distributed marks only the lines of an exception.
func streamName(writer string) string {
	if rank, _ := record.WriterRank(writer); rank == 0 {
		return record.WithoutRank(writer)
	}
	return writer
}

// shownName returns the name of a process as reports show it. With a node or a pod in its name, the
// process of rank 0 is one among others: "node2 rank 0".
func shownName(writer string) string {
	if streamName(writer) == "" {
		return ""
	}
	return writer
}

// stream returns the builder of the stream to which a record of a process belongs. It may be b. The
// parameter begins is set if the record may begin a file.
func (b *Builder) stream(writer string, begins bool) *Builder {
	if b.root != nil || b.log.supervised {
		return b
	}
	s := &b.log.streams
	name := shownName(writer)
	writer = streamName(writer)
	switch {
	case !begins && s.byName[writer] == nil: // nothing to judge yet
		return b
	case !s.decided:
		s.writer, s.name, s.decided = writer, name, true
		return b
	case writer == s.writer:
		return b
	}
	if other := s.byName[writer]; other != nil {
		return other
	}
	if len(s.all) == maxStreams {
		b.refuse(writer)
		return nil
	}
	if s.byName == nil {
		s.byName = map[string]*Builder{}
		s.ended = b.endedFiles()
	}
	other := &Builder{Done: b.Done, root: b, writer: name}
	other.run, other.process, other.batch = b.run, b.nextProcess(), b.nextRun()
	s.byName[writer], s.all = other, append(s.all, other)
	return other
}

// deliver gives a record to the builder of its stream.
func (b *Builder) deliver(rec record.Record) {
	switch s := b.route(&rec); {
	case s == nil:
	case s == b || rec.At().Line < s.log.last.Line:
		s.add(rec)
	default:
		s.Add(rec)
	}
}

// shownBy returns what a record shows of the process that printed it: its name, and whether it
// fails or works on a file.
func shownBy(rec record.Record) (writer string, fails, works bool) {
	writer = rec.Head().Writer
	switch r := rec.(type) {
	case record.Checkpoint:
		writer, works = record.ProcessOf(writer, r.Lane.Rank), ofProcess(&r)
	case record.OutOfMemory:
		writer, fails = record.ProcessOf(writer, r.Lane.Rank), true
	case record.Crash:
		writer, fails = record.ProcessOf(writer, r.Lane.Rank), true
	case record.FileStart:
		works = r.Pipeline
	case record.FileEnd:
		works = r.Pipeline
	}
	return writer, fails, works
}

// route sets the rank of a record and returns the builder of its stream.
func (b *Builder) route(rec *record.Record) *Builder {
	writer, fails, works := shownBy(*rec)
	switch r := (*rec).(type) {
	case record.Checkpoint:
		b.setRank(writer, &r.Lane, works)
		*rec = r
	case record.OutOfMemory:
		b.setRank(writer, &r.Lane, false)
		*rec = r
	case record.Crash:
		b.setRank(writer, &r.Lane, false)
		*rec = r
	}
	return b.stream(writer, works || fails && writer != "")
}

// ofProcess reports whether a checkpoint shows that the process that printed its line uses a
// device. The readings of a whole device, such as those of nvidia-smi at the beginning of a job, do
// not, unless the line names the process.
func ofProcess(c *record.Checkpoint) bool {
	return c.Writer != "" || c.Own || !c.Sampled || !c.Has(record.Used)
}

// refuse notes that a log has too many processes.
func (b *Builder) refuse(writer string) {
	if b.log.refused {
		return
	}
	b.log.refused = true
	b.tl.Bad = append(b.tl.Bad, record.SyntaxError{
		Header:   record.Header{Pos: b.log.last},
		Expected: fmt.Sprintf("at most %d processes in one log", maxStreams+1), Found: writer,
		Advice: "the records of further processes are left out; give each its own log, or take the " +
			"numbers of lines off",
	})
}

// endedFiles returns the log's files, and parts between files, that have ended.
func (b *Builder) endedFiles() (ended []*File) {
	if !b.log.splitKnown {
		return nil
	}
	for f := range b.logSoFar().InOrder() {
		if f != b.file && f != b.outside {
			ended = append(ended, f)
		}
	}
	return ended
}

// logSoFar returns a timeline of the current log's files, and parts between files, of this stream.
func (b *Builder) logSoFar() *Timeline {
	return &Timeline{Files: b.tl.Files[b.log.files:], Outside: b.tl.Outside[b.log.outside:]}
}

// nextRun returns the number of the next run, and nextProcess that of the next process.
func (b *Builder) nextRun() int {
	b = b.main()
	b.numbers.run++
	return b.numbers.run
}

func (b *Builder) nextProcess() int {
	b = b.main()
	b.numbers.process++
	return b.numbers.process
}

// main returns the builder that has the streams.
func (b *Builder) main() *Builder {
	if b.root != nil {
		return b.root
	}
	return b
}

// setRank sets the rank of a record's lane, if its process has a name and the line gives no rank.
// The ranks tell the processes apart. A process gets the rank in its name, or else the lowest rank
// that no other process of the log has. The parameter reads is set if the record shows that its
// process uses a device.
func (b *Builder) setRank(writer string, lane *record.Lane, reads bool) {
	s := &b.main().log.streams
	name := shownName(writer)
	writer = streamName(writer)
	rank, known := s.ranks[writer]
	if !known {
		if writer == "" && (s.ranks == nil || !reads) {
			return // rank 0, as in logs in which no process has a name
		}
		if s.ranks == nil {
			s.ranks, s.taken = map[string]int{}, map[int]bool{}
			if s.decided && s.writer == "" {
				s.ranks[""], s.taken[0] = 0, true // lines without a name came before
			}
		}
		if len(s.ranks) > 2*maxStreams {
			return
		}
		rank, _ = record.WriterRank(writer)
		rank = max(rank, s.free)
		for s.taken[rank] {
			rank++
		}
		s.ranks[writer], s.taken[rank] = rank, true
		for s.taken[s.free] {
			s.free++
		}
		switch {
		case writer == "" && rank > 0:
			b.main().tl.nameRank(rank, "lines without a name")
		case writer == "" || writer == "rank "+strconv.Itoa(rank):
			b.main().tl.nameRank(rank, "") // the number says it all
		default:
			b.main().tl.nameRank(rank, name)
		}
	}
	if own, _ := record.WriterRank(writer); lane.Rank == 0 || lane.Rank == own {
		lane.Rank = rank
	}
}

// nameRank notes the name of the process that has a rank. If the processes of two logs have the
// same rank, but different names, the rank keeps no name.
func (tl *Timeline) nameRank(rank int, writer string) {
	if tl.Writers == nil {
		tl.Writers = map[int]string{}
	}
	if name, known := tl.Writers[rank]; known && name != writer {
		writer = ""
	}
	tl.Writers[rank] = writer
}

// joinStreams adds the streams of the log that has ended to the timeline.
func (b *Builder) joinStreams() {
	s := &b.log.streams
	if len(s.all) == 0 {
		return
	}
	for f := range b.logSoFar().InOrder() {
		f.Writer = s.name
	}
	s.byName = nil
	for i, other := range s.all {
		other.endLog()
		b.tl.add(&other.tl)
		s.all[i] = nil // its memory is free from here on
	}
	files, outside := b.tl.Files[:b.log.files], b.tl.Outside[:b.log.outside]
	for _, f := range s.ended {
		if f.Outside {
			outside = append(outside, f)
		} else {
			files = append(files, f)
		}
	}
	b.tl.Files, b.tl.Outside = files, outside
	byLine := func(a, c record.SyntaxError) int { return a.Pos.Line - c.Pos.Line }
	slices.SortStableFunc(b.tl.Bad[b.log.bad:], byLine)
	*s = streams{}
}

// add adds what a stream's timeline holds, apart from its files.
func (tl *Timeline) add(other *Timeline) {
	tl.Warnings = append(tl.Warnings, other.Warnings...)
	tl.Crashes = append(tl.Crashes, other.Crashes...)
	tl.Bad = append(tl.Bad, other.Bad...)
	tl.Checkpoints += other.Checkpoints
	tl.Failures += other.Failures
	tl.Words += other.Words
	tl.Between.merge(&other.Between)
	tl.Suggestions = append(tl.Suggestions, other.Suggestions...)
}

// SoFar returns the timeline so far. It includes the file that is being processed, which has no
// end yet.
func (b *Builder) SoFar() *Timeline {
	if len(b.log.streams.all) == 0 {
		return &b.tl
	}
	all := b.tl
	all.Files, all.Warnings, all.Bad = slices.Clip(all.Files), slices.Clip(all.Warnings),
		slices.Clip(all.Bad)
	all.Crashes, all.Suggestions = slices.Clip(all.Crashes), slices.Clip(all.Suggestions)
	all.Between.Losses, all.Between.Printed = slices.Clip(all.Between.Losses),
		slices.Clip(all.Between.Printed)
	for _, other := range b.log.streams.all {
		all.Files = append(all.Files, other.tl.Files...)
		all.add(&other.tl)
	}
	return &all
}
