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

// readLog yields the records of one log and says whether to go on. A log without a checkpoint is an error: it is the
// wrong file, or a pipeline that logs nothing to judge.
func readLog(path string, yield func(parser.Record, error) bool) bool {
	r, err := parser.Open(path)
	if err != nil {
		return yield(nil, err)
	}
	defer func() { _ = r.Close() }() // only read
	name := path
	if path == "-" {
		name = "standard input"
	}
	seen := &sniffer{Reader: r}
	checkpoints := 0
	for rec, err := range parser.Read(seen, name) {
		if _, ok := rec.(parser.Checkpoint); ok {
			checkpoints++
		}
		if !yield(rec, err) || err != nil {
			return false
		}
	}
	if checkpoints == 0 {
		return yield(nil, seen.noCheckpoints(name))
	}
	return true
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

// judge reads several logs as one and judges them by the policy of [policyFor].
func judge(logs []string, policyPath string) (*parser.Timeline, *check.Report, error) {
	tl, err := parser.Build(records(logs))
	if err != nil {
		return nil, nil, err
	}
	policy, _, err := policyFor(policyPath, tl)
	if err != nil {
		return nil, nil, err
	}
	return tl, check.Judge(tl, policy), nil
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
