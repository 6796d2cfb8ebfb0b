package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// records yields the records of several logs as if they were one.
func records(paths []string) iter.Seq2[parser.Record, error] {
	return func(yield func(parser.Record, error) bool) {
		for _, path := range paths {
			if !readLog(path, yield) {
				return
			}
		}
	}
}

// readLog yields the records of one log and says whether to go on.
func readLog(path string, yield func(parser.Record, error) bool) bool {
	log, err := parser.Open(path)
	if err != nil {
		return yield(nil, err)
	}
	defer func() { _ = log.Close() }() // only read
	seen := &sniffer{Reader: log}
	checkpoints := 0
	for rec, err := range parser.Read(seen, displayName(path)) {
		if _, ok := rec.(parser.Checkpoint); ok {
			checkpoints++
		}
		if !yield(rec, err) || err != nil {
			return false
		}
	}
	if checkpoints == 0 {
		return yield(nil, seen.noCheckpoints(displayName(path)))
	}
	return true
}

// displayName is what positions call a log.
func displayName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// A sniffer notes what passes through it, to tell later why nothing was found in it.
type sniffer struct {
	io.Reader
	bytes, lines int
	nul          int // offset of the first NUL byte, from 1
}

func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.nul == 0 {
		s.nul = bytes.IndexByte(p[:n], 0) + 1
		if s.nul > 0 {
			s.nul += s.bytes
		}
	}
	s.lines += bytes.Count(p[:n], []byte{'\n'})
	s.bytes += n
	return n, err
}

func (s *sniffer) noCheckpoints(name string) error {
	const want = `expected lines such as "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | ..."`
	switch {
	case s.bytes == 0:
		return fmt.Errorf("%s is empty; %s", name, want)
	case s.nul > 0:
		return fmt.Errorf("%s has no checkpoints and looks like a binary file (NUL at byte %d); %s", name, s.nul, want)
	}
	return fmt.Errorf("%s has no checkpoints (lines read: %d); %s", name, s.lines, want)
}

// timeline reads several logs as one.
func timeline(paths []string, b *parser.Builder) (*parser.Timeline, error) {
	for _, path := range paths {
		if err := addLog(b, path); err != nil {
			return nil, err
		}
	}
	return b.Timeline(), nil
}

// addLog adds a log. One without a checkpoint is an error: it is the wrong file, or a pipeline that logs nothing to judge.
func addLog(b *parser.Builder, path string) error {
	log, err := parser.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	name, before := displayName(path), b.SoFar().Checkpoints
	if path == "-" {
		seen := &sniffer{Reader: log}
		if err := b.Read(seen, name); err != nil || b.SoFar().Checkpoints > before {
			return err
		}
		return seen.noCheckpoints(name)
	}
	if err := b.Read(log, name); err != nil || b.SoFar().Checkpoints > before {
		return err
	}
	return sniff(path)
}

// sniff says why a log has no checkpoints.
func sniff(path string) error {
	log, err := parser.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	seen := &sniffer{Reader: log}
	if _, err := io.Copy(io.Discard, seen); err != nil {
		return err
	}
	return seen.noCheckpoints(path)
}

// judge reads several logs as one and judges them by the policy of [policyFor]. The timeline has the checkpoints too.
func judge(logs []string, policyPath string) (*parser.Timeline, *check.Report, error) {
	tl, err := timeline(logs, &parser.Builder{})
	if err != nil {
		return nil, nil, err
	}
	policy, _, err := policyFor(policyPath, tl)
	if err != nil {
		return nil, nil, err
	}
	return tl, check.Of(tl, policy), nil
}

// judgeFiles is judge without keeping the checkpoints, so that logs of any length can be judged.
func judgeFiles(logs []string, policyPath string) (*parser.Timeline, *check.Report, error) {
	var j *check.Judge
	var text string
	var failed error
	b := &parser.Builder{}
	b.Done = func(f *parser.File) {
		if j == nil {
			var policy check.Policy
			policy, text, failed = policyFor(policyPath, b.SoFar())
			j = check.New(policy)
		}
		j.Add(f)
	}
	tl, err := timeline(logs, b)
	if err != nil {
		return nil, nil, err
	}
	_, whole, err := policyFor(policyPath, tl)
	switch {
	case failed != nil || err != nil:
		return nil, nil, errors.Join(failed, err)
	case whole != text: // the run that the policy is of was not known at the first file
		return judge(logs, policyPath)
	}
	return tl, j.Report(tl), nil
}

// defaultPolicy is looked for in the current folder.
const defaultPolicy = "vramsoak.yaml"

// policyFor finds the policy by which to judge: the file that the user names; else the one that the run was made with,
// which its log keeps; else vramsoak.yaml in the current folder; else the defaults. text is the file as it is written,
// empty for the defaults.
func policyFor(path string, tl *parser.Timeline) (policy check.Policy, text string, err error) {
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
	src, err := os.ReadFile(name)
	if path == "" && errors.Is(err, os.ErrNotExist) {
		return check.DefaultPolicy(), "", nil
	}
	if err != nil {
		return check.Policy{}, "", fmt.Errorf("policy: %w", err)
	}
	policy, err = check.ParsePolicy(src, name)
	return policy, string(src), err
}

// policyRun is the run by whose policy the logs are judged: the first of each log counts, what a pipeline prints comes after
// it, and they must agree.
func policyRun(tl *parser.Timeline) (parser.RunStart, error) {
	seen := map[string]bool{}
	first := tl.Runs[0].Start
	for _, run := range tl.Runs {
		if log := run.Start.Pos.Path; !seen[log] && run.Start.Policy != first.Policy {
			return first, fmt.Errorf("%s was made with another policy than %s; give the one to judge by with --policy", log, first.Pos.Path)
		}
		seen[run.Start.Pos.Path] = true
	}
	bare := func(f parser.File) bool { return !f.Supervised }
	if first.Policy != "" && (slices.ContainsFunc(tl.Files, bare) || slices.ContainsFunc(tl.Outside, bare)) {
		return first, fmt.Errorf("%s was made with a policy and the other logs without; give the one to judge by with --policy", first.Pos.Path)
	}
	return first, nil
}
