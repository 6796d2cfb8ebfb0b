package simulator

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/segments"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/pipeline/scenario"
)

// startTime is the time of the first line of a log, unless [Options.Clock] is set.
var startTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// ErrCrashed is the error of [Run] if a crash fault ended the run; see [Options.EndAtCrash].
var ErrCrashed = errors.New("the process crashed, as a fault of the scenario has it")

// Options say how to run a scenario.
type Options struct {
	Files int       // number of files; 0: as in the scenario
	Log   io.Writer // gets the pipeline's lines, one Write each; nil: no log
	// Segments makes the log list all blocks of the allocator at the end of each file. Otherwise it
	// lists them only when memory runs out.
	Segments bool
	// Lengths, if set, returns the length of the i-th file (from 1) in seconds, or 0 if it is
	// unknown. For a file of unknown length the simulator uses the length that the scenario gives.
	Lengths func(i int) float64
	// Source, if set, yields the files of the run. The run then ends when Source ends, and Files
	// does not limit it.
	Source iter.Seq2[File, error]
	// First is the number of the first file to simulate (from 1), if the run simulates only a part of
	// the scenario's batch; 0 means the whole batch.
	First int
	// Clock, if set, returns the time to write on a log line. seconds are the simulated seconds
	// since the start of the run.
	Clock func(seconds float64) time.Time
	// EndAtCrash ends the run with [ErrCrashed] if a fault crashes the process, so that a supervisor
	// can restart it. Otherwise a new process continues with the next file.
	EndAtCrash bool
	// EndAtFailure ends the run after the first file that fails.
	EndAtFailure bool
	// Trace, if set, is called when a simulated process begins, with its allocator settings and its
	// card. It returns a function, which the simulator calls for each allocation and each free of that
	// process. The simulator skips passes that repeat earlier ones; set EachPass to see the calls of
	// every pass.
	Trace func(conf string, card allocator.DeviceConfig) func(trace.Op)
	// Unlimited replaces the card by a card that never runs out of memory, to find out how much
	// memory the work needs. In expressions, total and free are still values of the scenario's
	// card.
	Unlimited bool
	// EachPass simulates every pass, even when passes repeat each other.
	EachPass bool
}

// unlimited is the size of a card that never runs out of memory: 16 TiB. The address space has room
// for some fifty segments of that size.
const unlimited = 16 << 40

// A File is a file of the batch.
type File struct {
	Path    string
	Seconds float64 // of audio; 0: unknown, the scenario gives the length
	// Number is the file's number in the scenario's batch, from 1. If it is 0, the file is the next
	// one after the file before.
	Number int
}

// Run runs a scenario and returns the outcome. If memory runs out, this is part of the outcome and
// not an error.
func Run(s *scenario.Scenario, o Options) (*Outcome, error) {
	plan, err := newPlan(s)
	if err != nil {
		return nil, err
	}
	variable, conf := s.AllocConf()
	config, err := allocator.ParseConfig(conf)
	if err != nil {
		return nil, fmt.Errorf("%s: env: %s: %w", s.Path, variable, err)
	}
	p := &process{
		plan: plan, scenario: s, config: config, outcome: &Outcome{}, occupied: s.GPU.Occupied,
		capacity: s.GPU.Total,
		repeats:  repeating(conf) && !o.EachPass, trace: o.Trace,
	}
	p.count = s.Files.Count
	if o.First == 0 && o.Files > 0 {
		p.count = o.Files
	}
	if o.Unlimited {
		p.capacity = unlimited
	}
	for _, st := range p.all {
		p.outcome.Stages = append(p.outcome.Stages, StagePeak{Stage: st.Name})
	}
	p.log = logger{w: o.Log, at: func() time.Time {
		if o.Clock != nil {
			return o.Clock(p.now)
		}
		return startTime.Add(time.Duration(p.now * float64(time.Second)))
	}}
	err = p.batch(o)
	p.outcome.Seconds = p.now
	return p.outcome, err
}

// batch starts the process, processes all files, and starts a new process after every RestartEvery
// files and after a crash.
func (p *process) batch(o Options) error {
	if p.scenario.ClearOnStart {
		p.occupied = 0
		p.log.text("CLEANUP: GPU memory cleared at start")
	}
	if ok, err := p.begin(); !ok {
		return err
	}
	defer p.end()
	files := p.outcome.Files
	first := max(1, o.First)
	for f, err := range p.files(o, first) {
		if err != nil {
			return err
		}
		if n := p.scenario.RestartEvery; n > 0 && files-p.outcome.Files == -n {
			p.end()
			if ok, err := p.begin(); !ok {
				return err
			}
			files = p.outcome.Files
		}
		failed := p.outcome.Failed
		n := f.Number
		if n == 0 {
			n = first + p.outcome.Files
		}
		err = p.file(f, n, o)
		if err := errors.Join(p.log.err, unexpected(err)); err != nil {
			return err
		}
		if errors.Is(err, errCrash) {
			if o.EndAtCrash {
				return ErrCrashed
			}
			p.end()
			if ok, err := p.begin(); !ok {
				return err
			}
			files = p.outcome.Files
		}
		if o.EndAtFailure && p.outcome.Failed > failed {
			return nil
		}
	}
	return nil
}

// unexpected returns nil for out of memory and for a crash, which are part of the outcome. It
// returns other errors unchanged, such as an expression without a value.
func unexpected(err error) error {
	if _, oom := errors.AsType[*allocator.OutOfMemoryError](err); oom || errors.Is(err, errCrash) {
		return nil
	}
	return err
}

// begin starts a process, loads the resident models and runs the stages with once: true. ok is
// false if memory runs out, or if there is an error.
func (p *process) begin() (ok bool, err error) {
	if err := p.start(); err != nil {
		return false, err
	}
	err = p.loadResident()
	if f := p.failed(0, "", err, p.residentWants); f != nil {
		p.outOfMemory(f)
		return false, p.log.err
	}
	for _, st := range p.once {
		v := p.vars()
		if err := p.runStage(st, v); err != nil {
			return false, errors.Join(p.log.err, unexpected(err))
		}
	}
	return true, nil
}

// files yields the files of the run with their lengths. first is the number of the first file.
func (p *process) files(o Options, first int) iter.Seq2[File, error] {
	of := &p.scenario.Files
	length := func(i int, known float64) float64 {
		if known <= 0 && o.Lengths != nil {
			known = o.Lengths(i)
		}
		if known <= 0 {
			known = of.Length(i)
		}
		return known
	}
	if o.Source != nil {
		return func(yield func(File, error) bool) {
			i := first
			for f, err := range o.Source {
				if f.Number > 0 {
					i = f.Number
				}
				f.Seconds = length(i, f.Seconds)
				if !yield(f, err) {
					return
				}
				i++
			}
		}
	}
	n := o.Files
	if n == 0 {
		n = of.Count
	}
	return func(yield func(File, error) bool) {
		for i := first; i < first+n; i++ {
			if !yield(File{Path: fmt.Sprintf("%04d.wav", i), Seconds: length(i, 0)}, nil) {
				return
			}
		}
	}
}

// file processes file number n and logs its beginning and end.
func (p *process) file(f File, n int, o Options) error {
	p.charge()
	began, retries, skipped := p.now, p.charged, p.outcome.Skipped
	p.outcome.Files++
	p.log.write(func(b []byte) []byte {
		return record.FileStart{
			Header: p.log.head(), Pipeline: true, Path: f.Path,
			AudioSeconds: f.Seconds,
		}.AppendLine(b)
	})
	if p.scenario.Initialization != "" {
		p.checkpoint(p.scenario.Initialization, nil)
	}
	v := p.vars()
	v.Seconds, v.File = f.Seconds, n
	err := p.stagesOf(v)
	p.charge()
	done := FileOutcome{
		AudioSeconds: f.Seconds, Seconds: p.now - began, Idle: p.level(),
		LargestFree: p.alloc.LargestFree(),
		Retries:     p.charged - retries, Failed: err != nil,
		Skipped: p.outcome.Skipped - skipped,
	}
	if done.Retries > 0 && p.outcome.FirstPressure == 0 {
		p.outcome.FirstPressure = n
	}
	p.outcome.PerFile = append(p.outcome.PerFile, done)
	if err != nil {
		p.outcome.Failed++
	} else {
		p.outcome.AudioSeconds += f.Seconds
	}
	if errors.Is(err, errCrash) {
		if p.outcome.FirstFailure == nil {
			p.outcome.FirstFailure = &Failure{File: n, What: "the process crashed"}
		}
		return err
	}
	if o.Segments && p.log.w != nil {
		held := p.segmentMap("file end")
		p.log.write(func(b []byte) []byte { return segments.AppendLine(&held, b) })
	}
	p.log.write(func(b []byte) []byte {
		end := record.FileEnd{
			Header: p.log.head(), Pipeline: true, Path: f.Path,
			Status: record.StatusOK, Seconds: done.Seconds,
		}
		if err != nil {
			end.Status, end.Error = record.StatusOOM, briefly(err)
		}
		return end.AppendLine(b)
	})
	return err
}

// briefly returns an error's message for the line of a failed file. It shortens PyTorch's message
// to its beginning, because another line of the log has the whole message.
func briefly(err error) string {
	oom, ok := errors.AsType[*allocator.OutOfMemoryError](err)
	if !ok {
		return err.Error()
	}
	return strings.TrimSuffix(err.Error(), oom.Error()) + oom.Request()
}

// stagesOf runs the stages of a file and the final cleanups, and frees the memory that lives as
// long as the file. It returns the error of the stage that failed.
func (p *process) stagesOf(v scenario.Vars) error {
	var failed error
	for _, st := range p.stages {
		if failed = p.runStage(st, v); failed != nil {
			break
		}
	}
	if errors.Is(failed, errCrash) {
		return failed
	}
	for _, c := range p.final {
		p.cleanup(c, v.File, p.ofFile)
	}
	p.ofFile(func(h *holding) bool { p.release(h, v.File); return true })
	return failed
}

// ofFile yields the holdings that are freed at the end of a file.
func (p *process) ofFile(yield func(*holding) bool) {
	for _, m := range p.models {
		if !yield(&m.outputs) || !yield(&m.gradients) || !m.Resident &&
			(!yield(&m.weights) || !yield(&m.optimizer)) {
			return
		}
	}
	for _, st := range p.stages {
		for _, t := range st.tensors {
			if !t.Until.Outlives(scenario.WithFile) && !yield(&t.holding) {
				return
			}
		}
		if st.Footprint != nil && !yield(&st.keeps) {
			return
		}
	}
}
