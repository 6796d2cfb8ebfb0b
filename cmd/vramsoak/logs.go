package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/nearmiss"
	"vramsoak/parser/filetype"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/parser/strictyaml"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/records"
)

// readLog yields the records of one log, and reports whether the caller wants more. A log without
// any reading is an error: it is the wrong file, or its pipeline logs nothing.
func (o readOptions) readLog(path string, yield func(record.Record, error) bool) bool {
	log, d, err := o.open(path)
	if err != nil {
		return yield(nil, err)
	}
	defer func() { _ = log.Close() }() // only read
	found := false
	var why reason
	for rec, err := range d.set.Read(log, displayName(path)) {
		found = found || err == nil && records.IsReading(rec)
		why.add(rec)
		if !yield(rec, err) || err != nil {
			return false
		}
	}
	if !found {
		why.wanted = o.wanted(d)
		return yield(nil, o.explainEmpty(path, log, "readings", why, 0))
	}
	return true
}

// A sniffer counts the bytes and lines that pass through it. The counts later explain why a log had
// no record.
type sniffer struct {
	*source.Log
	all          io.Reader // the whole log, with the bytes that were read before
	bytes, lines int
	nul          int    // offset of the first NUL byte, from 1
	known        bool   // the file has a type of its own, see package filetype
	head         []byte // the first bytes, up to sniffedHead
	near         nearmiss.Finder
}

// sniffedHead is how many bytes of a log without records are searched for the rows of a table
// without its header.
const sniffedHead = 64 << 10

func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.all.Read(p)
	if s.bytes == 0 {
		s.known = filetype.Of(p[:n]) != nil
	}
	if s.nul == 0 {
		s.nul = bytes.IndexByte(p[:n], 0) + 1
		if s.nul > 0 {
			s.nul += s.bytes
		}
	}
	s.head = append(s.head, p[:min(n, sniffedHead-len(s.head))]...)
	_, _ = s.near.Write(p[:n])
	s.lines += bytes.Count(p[:n], []byte{'\n'})
	s.bytes += n
	return n, err
}

// A reason says why a log has no readings.
type reason struct {
	bad    *record.SyntaxError // the first line that cannot be read, or nil
	failed *record.Warning     // the first reading that failed, or nil
	wanted string              // what the user expected
}

func (r *reason) add(rec record.Record) {
	switch rec := rec.(type) {
	case record.SyntaxError:
		if r.bad == nil {
			r.bad = &rec
		}
	case record.Warning:
		if r.failed == nil && rec.Level == "failed" {
			r.failed = &rec
		}
	}
}

// remark returns a hint on a log without records: its first unreadable line or, without one, what
// the user expected.
func (r *reason) remark() string {
	if r.bad != nil {
		return fmt.Sprintf("the first line that cannot be read: %v", *r.bad)
	}
	return r.wanted
}

// sniffed is how many bytes of a log without records are searched for a reason. It applies only if
// the log's lines were counted before. NUL bytes count only among the first sniffedNUL bytes.
const (
	sniffed    = 64 << 20
	sniffedNUL = 1 << 20
)

// An emptyError says that a log was read and has no record of the expected kind.
type emptyError string

func (e emptyError) Error() string { return string(e) }

// explainEmpty returns the error for a log in which no record of the kind `what` was found. The
// error says why: the first line that cannot be read, or else a row of a table without its header,
// or else what the user expected. If a line looks like a reading, the error quotes it, with a
// dialect that reads it. The parameter lines is the number of lines in the log, or 0 if they were
// not counted.
func (o readOptions) explainEmpty(path string, log io.Reader, what string, why reason, lines int,
) error {
	seen, streamed := log.(*sniffer)
	if !streamed {
		again, err := parser.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = again.Close() }() // only read
		seen = &sniffer{Log: again, all: again}
		part := io.Reader(seen)
		if lines > 0 {
			part = io.LimitReader(seen, sniffed)
		}
		if _, err := io.Copy(io.Discard, part); err != nil {
			return err
		}
		if seen.lines = max(seen.lines, lines); lines > 0 && seen.nul > sniffedNUL {
			seen.nul = 0
		}
	}
	name := displayName(path)
	if why.bad == nil {
		row, ok := dialect.FindHeadless(seen.head, name)
		if ok && (o.dialect == "" || o.dialect == row.Dialect) {
			why.bad = &row
		}
	}
	remark := why.remark()
	switch {
	case why.failed != nil:
		return emptyError(fmt.Sprintf("%s has no %s: %s", name, what, why.failed.Text))
	case seen.known && why.bad != nil:
		return emptyError(why.bad.Error())
	case seen.bytes == 0:
		return emptyError(fmt.Sprintf("%s is empty; %s", name, remark))
	case seen.nul > 0:
		return emptyError(
			fmt.Sprintf("%s has no %s and looks like a binary file (NUL at byte %d); %s", name,
				what, seen.nul, remark))
	}
	if near, ok := seen.near.Line(); ok && o.dialect == "" {
		if why.bad == nil {
			remark = o.nearMiss(path, near)
		} else if why.bad.Pos.Line != near.Number {
			remark += "\n" + o.nearMiss(path, near)
		}
	}
	return emptyError(fmt.Sprintf("%s has no %s (lines read: %d); %s", name, what,
		seen.lines, remark))
}

// timeline reads several logs into one timeline. It also returns the dialects in which it read each
// log.
func (o readOptions) timeline(paths []string, b *parser.Builder) (tl *timeline.Timeline,
	read []dialects, err error,
) {
	var nothing error // of the first worker's log without records
	for _, path := range paths {
		d, err := o.addLog(b, path)
		if none, is := errors.AsType[emptyError](err); is && ofWorker(b.SoFar(),
			displayName(path)) {
			nothing = cmp.Or(nothing, error(none))
		} else if err != nil {
			return nil, nil, err
		}
		read = append(read, d)
	}
	if tl := b.SoFar(); nothing != nil && tl.Checkpoints+tl.Failures == 0 {
		return nil, nil, nothing
	}
	return b.Timeline(), read, nil
}

// ofWorker reports whether a log is of one of several workers. Such a log may be empty, because the
// other workers may have done all the work.
func ofWorker(tl *timeline.Timeline, name string) bool {
	return slices.ContainsFunc(tl.Runs, func(r timeline.Run) bool {
		return r.Start.Pos.Path == name && r.Start.Workers > 1
	})
}

// addLog adds a log to the builder. It returns an error if the log has nothing to judge: no
// checkpoint, no out-of-memory message, no failed file, and no file that the pipeline named. The
// log is then the wrong file, or its pipeline logs too little.
func (o readOptions) addLog(b *parser.Builder, path string) (dialects, error) {
	log, d, err := o.open(path)
	if err != nil {
		return d, err
	}
	defer func() { _ = log.Close() }() // only read
	judged := func() int { return b.SoFar().Checkpoints + b.SoFar().Failures }
	before, lines, words, files := judged(), b.SoFar().Lines, b.SoFar().Words, len(b.SoFar().Files)
	b.Dialects = d.set
	if err := b.Read(log, displayName(path)); err != nil || judged() > before ||
		failedFile(b.SoFar(), displayName(path)) {
		return d, err
	}
	if b.SoFar().Words > words && len(b.SoFar().Files) > files {
		return d, nil // the ends of the files can be judged
	}
	if why := stoppedBy(b.SoFar(), displayName(path)); why != "" {
		return d, emptyError(fmt.Sprintf("%s has no checkpoints: %s", displayName(path), why))
	}
	why := reasonIn(b.SoFar(), displayName(path))
	why.wanted = o.wanted(d)
	return d, o.explainEmpty(path, log, "checkpoints", why, b.SoFar().Lines-lines)
}

// stoppedBy returns why the run in a log ended early, or "" if the run did not end early or the log
// does not say why.
func stoppedBy(tl *timeline.Timeline, name string) string {
	for _, run := range tl.Runs {
		if run.Start.Pos.Path == name && run.End != nil && run.End.Error != "" {
			return "the run was " + run.End.Reason + ": " + run.End.Error
		}
	}
	return ""
}

// failedFile reports whether one of the log's files is known not to have ended ok.
func failedFile(tl *timeline.Timeline, name string) bool {
	return slices.ContainsFunc(tl.Files, func(f *timeline.File) bool {
		return f.Pos.Path == name && f.Status != record.StatusOK && f.Status != record.StatusUnknown
	})
}

// reasonIn returns why a log of the timeline has no readings.
func reasonIn(tl *timeline.Timeline, name string) (why reason) {
	for _, w := range tl.Warnings {
		if w.Pos.Path == name {
			why.add(w)
		}
	}
	for _, e := range tl.Bad {
		if e.Pos.Path == name {
			why.add(e)
			break
		}
	}
	return why
}

// judge reads several logs into one timeline and judges them file by file, by the policy that
// [policyFor] finds. It keeps only the checkpoints of the first files, so that logs of any length
// can be judged. If sketch is not nil, judge adds the data for a plot to it.
func (o readOptions) judge(logs []string, sketch *memory.Sketch) (*timeline.Timeline,
	*check.Report, error,
) {
	first, err := peek(logs[0], true)
	if err != nil {
		return nil, nil, err
	}
	defer first.close()
	o.first = first
	policy, text, err := o.policyOf(logs)
	if err != nil {
		return nil, nil, err
	}
	j := check.New(policy)
	j.Trends, j.Measures = o.trends, o.measures
	b := &parser.Builder{}
	b.Done = func(f *timeline.File) {
		recovered := j.Add(f)
		if sketch != nil {
			sketch.Add(f, recovered)
		}
		if o.page != nil {
			o.page.Add(f, recovered)
		}
	}
	tl, read, err := o.timeline(logs, b)
	if err != nil {
		return nil, nil, err
	}
	if _, whole, err := policyFor(o.policy, tl); err != nil {
		return nil, nil, err
	} else if len(tl.Runs) > 0 && whole != text {
		return nil, nil,
			fmt.Errorf("%s: the policy of this run comes after the first %s of the log; "+
				"give the policy to judge by with --policy", tl.Runs[0].Start.Pos,
				record.FormatBytes(headMax))
	}
	if err := sameDialects(logs, read, policy); err != nil {
		return nil, nil, err
	}
	return tl, j.Report(tl), nil
}

// policyOf finds the policy for judging logs before they are read, like [policyFor]. If a run's
// policy counts, it is the policy of the first run in the logs' heads. Of the streams among the
// logs, only the first is opened for this.
func (o readOptions) policyOf(logs []string) (policy check.Policy, text string, err error) {
	tl, err := runIn(o.first.head, displayName(o.first.path))
	for _, path := range logs[1:] {
		if err != nil || len(tl.Runs) > 0 || o.policy != "" {
			break
		}
		info, statErr := os.Stat(path)
		if statErr != nil || !info.Mode().IsRegular() {
			continue
		}
		p, openErr := peek(path, true)
		if openErr != nil {
			break // the error comes again when the log is read
		}
		p.close()
		tl, err = runIn(p.head, displayName(path))
	}
	if err != nil {
		return policy, "", err
	}
	return policyFor(o.policy, tl)
}

// sameDialects returns an error if a log was read in dialects other than those of its policy.
func sameDialects(logs []string, read []dialects, policy check.Policy) error {
	for i, d := range read {
		if !slices.EqualFunc(d.user, policy.Dialects, dialect.User.Equal) {
			return fmt.Errorf("%s was read in other dialects than those of the policy that it is "+
				"judged by; give the policy with --policy",
				logs[i])
		}
	}
	return nil
}

// defaultPolicy is the policy file in the current folder.
const defaultPolicy = "vramsoak.yaml"

// policyFor finds the policy to judge by. It takes the first of these: the file that the user
// named, the policy that the run was made with and that its log contains, vramsoak.yaml in the
// current folder, the defaults. text is the content of the policy file, or empty for the defaults.
func policyFor(path string, tl *timeline.Timeline) (policy check.Policy, text string, err error) {
	if path == "" && tl != nil && len(tl.Runs) > 0 {
		start, err := policyRun(tl)
		if err != nil {
			return check.Policy{}, "", err
		}
		policy, err = check.ParsePolicy([]byte(start.Policy), start.Pos.String()+": policy")
		return policy, start.Policy, err
	}
	name := path
	if name == "" {
		name = defaultPolicy
	}
	src, err := strictyaml.ReadFile(name)
	if path == "" && errors.Is(err, os.ErrNotExist) {
		return check.DefaultPolicy(), "", nil
	}
	if err != nil {
		return check.Policy{}, "", fmt.Errorf("policy: %w", err)
	}
	policy, err = check.ParsePolicy(src, name)
	return policy, string(src), err
}

// policyRun returns the run whose policy the logs are judged by. It looks only at the first run of
// each log, because the pipeline may have printed the later ones. These runs must all have the same
// policy.
func policyRun(tl *timeline.Timeline) (record.RunStart, error) {
	seen := map[string]bool{}
	first := tl.Runs[0].Start
	for _, run := range tl.Runs {
		if log := run.Start.Pos.Path; !seen[log] && run.Start.Policy != first.Policy {
			return first, fmt.Errorf("%s was made with another policy than %s; give the policy to "+
				"judge by with --policy", log, first.Pos.Path)
		}
		seen[run.Start.Pos.Path] = true
	}
	bare := func(f *timeline.File) bool { return !f.Supervised }
	if first.Policy != "" && (slices.ContainsFunc(tl.Files, bare) ||
		slices.ContainsFunc(tl.Outside, bare)) {
		return first, fmt.Errorf("%s was made with a policy and the other logs without; give the "+
			"policy to judge by with --policy", first.Pos.Path)
	}
	return first, nil
}

// Limits for quoting a pipeline's output.
const (
	quotedLines = 10
	quotedTail  = 16 << 10 // bytes of a log
	quotedBytes = 400      // of a line
)

// lastLines returns the last lines that the pipeline printed into the logs, as a quotation. If a
// log has no checkpoints, these lines often say why.
func lastLines(logs []string) string {
	var lines []string
	for _, log := range logs {
		lines = append(lines, lastLinesOf(log)...)
	}
	if len(lines) == 0 {
		return "the pipeline printed nothing"
	}
	return "the pipeline's last lines:\n  " + strings.Join(lines[max(0, len(lines)-quotedLines):],
		"\n  ")
}

func lastLinesOf(log string) (lines []string) {
	f, err := os.Open(log)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(0, info.Size()-quotedTail), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, quotedTail)) // after an error, quote what was read
	said := vramlogSays(log)
	for line := range bytes.Lines(text) {
		last := lex.Shorten(source.Shown(string(line)), quotedBytes)
		// Several files may fail with the same line.
		if last != "" && !strings.HasPrefix(last, record.HarnessPrefix) &&
			!slices.Contains(lines, last) {
			lines = append(lines, last)
		}
	}
	lines = lines[max(0, len(lines)-quotedLines+1):]
	if said != "" && !slices.Contains(lines, said) {
		lines = slices.Insert(lines, 0, said)
	}
	return lines
}

// vramlogSays returns the line in which vramlog.py says why it prints no readings. vramlog.py
// prints this line once, when the process begins.
func vramlogSays(log string) string {
	head, _ := headOf(log) // after an error, search what was read
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("vramlog: ")) && bytes.Contains(line, []byte("no readings")) {
			return lex.Shorten(source.Shown(string(line)), quotedBytes)
		}
	}
	return ""
}
