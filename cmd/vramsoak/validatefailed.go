package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/bounded"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// liveFailures are the files that did not end well, or in which memory ran out.
func liveFailures(tl *parser.Timeline) []reports.LiveFailure {
	var all []reports.LiveFailure
	for _, f := range tl.LastAttempts() {
		if f.Outside && len(f.OOMs) == 0 || !f.Outside && f.Status == parser.StatusOK && len(f.OOMs) == 0 {
			continue
		}
		failure := reports.LiveFailure{File: f.Index, Path: f.Path, Status: string(f.Status), Says: saidIn(f)}
		if len(f.OOMs) > 0 || f.Status == parser.StatusOOM {
			failure.OutOfMemory = true
		}
		all = append(all, failure)
	}
	return all
}

// saidIn are the last lines that the pipeline printed in a file.
func saidIn(f *parser.File) []string {
	log, err := os.Open(f.Pos.Path)
	if err != nil {
		return nil
	}
	defer func() { _ = log.Close() }() // only read
	var words []string
	lines := bufio.NewReaderSize(log, bounded.LineMax)
	for n := 1; n <= f.EndPos.Line; n++ {
		text, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // of a longer line its end is kept
			text, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		line := strings.ToValidUTF8(strings.TrimRight(string(text), " \t\r\n"), "\uFFFD")
		line = line[strings.LastIndexByte(line, '\r')+1:] // the last state of a progress bar
		own := strings.HasPrefix(line, parser.HarnessPrefix) || strings.HasPrefix(line, parser.ProtocolPrefix)
		if n < f.Pos.Line || line == "" || own {
			continue
		}
		words = append(words, line[:min(len(line), wordMost)])
		words = words[max(0, len(words)-wordLines):]
	}
	return words
}

// totalOf is what the log says that the card has; 0 where it does not.
func totalOf(tl *parser.Timeline) int64 {
	var total int64
	for _, f := range tl.Files {
		for i := range f.Checkpoints {
			total = max(total, f.Checkpoints[i].Bytes(parser.Total))
		}
		for i := range f.OOMs {
			total = max(total, f.OOMs[i].Bytes(parser.Total))
		}
	}
	return total
}

// cardsAlike is what part of a card's size another one has at least that stands for it: drivers differ in what they keep.
const cardsAlike = 0.95

// failedLive has an answer take account of the real command's files that failed. Memory that ran out on a card as large as this one
// is the answer; any other failure leaves open what the file would have needed.
func (s *subject) failedLive(r *simulatedRun, live *liveRun) (why string) {
	if len(live.failures) == 0 {
		return ""
	}
	f := check.Finding{Check: check.Peak, Verdict: check.Undecided, Subject: "live"}
	i := max(0, slices.IndexFunc(live.failures, func(f reports.LiveFailure) bool { return f.OutOfMemory }))
	failure := live.failures[i]
	name := fmt.Sprintf("file %d", failure.File)
	if failure.Path != "" {
		name = filepath.Base(failure.Path)
	}
	smaller := live.total > 0 && float64(live.total) < cardsAlike*float64(s.GPU.Total)
	switch {
	case failure.OutOfMemory && smaller:
		f.Message = fmt.Sprintf("the real command ran out of memory in %s, on a card of %s; run it on one as large as the one that is asked for",
			name, parser.FormatBytes(live.total))
	case failure.OutOfMemory && failure.Status == string(parser.StatusOK):
		f.Message = fmt.Sprintf("the real command ran out of memory in %s, and went on with less", name)
	case failure.OutOfMemory:
		why = "the real command ran out of memory in " + name
		f.Verdict, f.Message = check.Fail, why
		r.Answer = validation.DoesNotFit
	default:
		f.Message = fmt.Sprintf("the real command did not end well with %s; mend that, and run it again", name)
	}
	r.report.Join(f)
	return why
}
