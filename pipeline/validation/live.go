package validation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/bounded"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
)

// A LiveRun holds measurements of the first files of the batch, which the real command processed
// for validate.
type LiveRun struct {
	Profile  *profile.Profile // nil if no file ended well
	Total    int64            // of the card; 0 if the log does not say
	Failures []LiveFailure
}

// ReadLive reads the measurements from the log of the real command. It returns an error if the log
// has none, unless a file failed.
func ReadLive(tl *timeline.Timeline) (*LiveRun, error) {
	live := &LiveRun{Total: totalOf(tl), Failures: liveFailures(tl)}
	var err error
	if live.Profile, err = profile.Learn(tl); err != nil && len(live.Failures) == 0 {
		return nil, err
	}
	return live, nil
}

// liveFailures returns the files that failed, or in which memory ran out.
func liveFailures(tl *timeline.Timeline) []LiveFailure {
	var all []LiveFailure
	for _, f := range tl.LastAttempts() {
		if f.Outside && len(f.OOMs) == 0 || !f.Outside && f.Status == record.StatusOK &&
			len(f.OOMs) == 0 {
			continue
		}
		all = append(all, LiveFailure{
			File: f.Index, Path: f.Path, Status: string(f.Status), Says: lastLines(f),
			OutOfMemory: len(f.OOMs) > 0 || f.Status == record.StatusOOM,
		})
	}
	return all
}

// A report quotes so much of a failed file's output at most.
const (
	quotedLines = 10
	quotedBytes = 400 // of each line
)

// lastLines returns the last lines that the pipeline printed during a file, without lines that
// begin with [pipeline] or [vramsoak].
func lastLines(f *timeline.File) []string {
	log, err := os.Open(f.Pos.Path)
	if err != nil {
		return nil
	}
	defer func() { _ = log.Close() }() // only read
	var last []string
	lines := bufio.NewReaderSize(log, bounded.MaxLine)
	for n := 1; n <= f.EndPos.Line; n++ {
		text, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // only the end of a longer line is kept
			text, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		line := source.Shown(string(text))
		own := strings.HasPrefix(line, record.HarnessPrefix) || strings.HasPrefix(line,
			record.ProtocolPrefix)
		if n < f.Pos.Line || line == "" || own {
			continue
		}
		last = append(last, lex.Shorten(line, quotedBytes))
		last = last[max(0, len(last)-quotedLines):]
	}
	return last
}

// totalOf returns the card's memory in bytes according to the log, or 0 if the log does not say.
func totalOf(tl *timeline.Timeline) int64 {
	var total int64
	for _, f := range tl.Files {
		for i := range f.Checkpoints {
			total = max(total, f.Checkpoints[i].Bytes(record.Total))
		}
		for i := range f.OOMs {
			total = max(total, f.OOMs[i].Bytes(record.Total))
		}
	}
	return total
}

// compareLive compares the measurements of the real command with the estimates for files of the
// same length, stage by stage. If an estimate is far off, the measurement replaces it in b, scaled
// up for the longer files of the batch.
func (b *Batch) compareLive(p *profile.Profile) []profile.Comparison {
	if p == nil {
		return nil
	}
	same := b.Clone()
	if p.Longest > 0 {
		same.Files.Low, same.Files.High = p.Longest, p.Longest
	}
	all := p.Apply(same)
	for i := range all {
		c := &all[i]
		c.Note = ""
		if c.Used != profile.Measured {
			continue
		}
		if c.Ratio != 0 && math.Abs(c.Ratio-1) <= trustedWithin {
			c.Used = profile.Estimated
			continue
		}
		c.Note = fmt.Sprintf("off by more than %.0f %%", 100*trustedWithin)
		b.Change(func(of *scenario.Scenario) {
			if st := of.Stage(c.Stage); st != nil && st.Footprint == nil {
				scale := 1.0
				if long, err := of.Estimate(st, of.Files.High); err == nil && c.Estimated > 0 {
					scale = max(1, float64(long)/float64(c.Estimated))
				}
				st.Footprint = &scenario.Footprint{Base: int64(scale * float64(c.Measured))}
			}
		})
	}
	return all
}

// against compares the answer of s, which uses the measurements of two real files, with the answer
// of predicted, which uses estimates alone. If the two answers differ, against adds a finding. If
// the answer of s is the better one, it becomes undecided, because two files are too few to rely
// on.
func (s *simulation) against(predicted *simulation) {
	if side(predicted.Answer) == side(s.Answer) {
		return
	}
	f := check.Finding{
		Check: check.Peak, Verdict: check.Undecided, Subject: "live",
		Message: fmt.Sprintf("by estimates %s, by two files of the command %s; soak some fifty, "+
			"learn a profile from that "+
			"(vramsoak profile), and validate with --profile", predicted.Answer.Clause(),
			s.Answer.Clause()),
	}
	if s.Answer < predicted.Answer {
		s.unsure(f)
	} else {
		s.checks.Join(f)
	}
}

// side returns the answer, with undecided replaced by fits.
func side(a Answer) Answer {
	if a == Unsure {
		return Fits
	}
	return a
}

// sameSize is the part of this card's memory that another card must have to count as equally large.
// It is below 1 because drivers keep different amounts of memory for themselves.
const sameSize = 0.95

// failedLive changes the answer if files of the real command failed. If memory ran out on a card as
// large as this one, the batch does not fit, and why names the file. After any other failure the
// answer is undecided, because the log does not show how much memory the file would have needed.
func (b *Batch) failedLive(s *simulation, live *LiveRun) (why string) {
	if len(live.Failures) == 0 {
		return ""
	}
	f := check.Finding{Check: check.Peak, Verdict: check.Undecided, Subject: "live"}
	i := max(0, slices.IndexFunc(live.Failures, func(f LiveFailure) bool { return f.OutOfMemory }))
	failure := live.Failures[i]
	name := fmt.Sprintf("file %d", failure.File)
	if failure.Path != "" {
		name = filepath.Base(failure.Path)
	}
	smaller := live.Total > 0 && float64(live.Total) < sameSize*float64(b.GPU.Total)
	switch {
	case failure.OutOfMemory && smaller:
		f.Message = fmt.Sprintf("the real command ran out of memory in %s, on a card of %s; run "+
			"it on one as large as the one that is asked for",
			name, record.FormatBytes(live.Total))
	case failure.OutOfMemory && failure.Status == string(record.StatusOK):
		f.Message = fmt.Sprintf("the real command ran out of memory in %s, and went on with less",
			name)
	case failure.OutOfMemory:
		why = "the real command ran out of memory in " + name
		f.Verdict, f.Message = check.Fail, why
		s.Answer = DoesNotFit
	default:
		f.Message = fmt.Sprintf(
			"the real command did not end well with %s; correct that, and run it again", name)
	}
	s.checks.Join(f)
	return why
}
