package scenario

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/parser/strictyaml"
)

// A Stage is a part of the work on a file, between the checkpoints "Before NAME" and "After NAME".
// It first loads its models, unless they are loaded already. For each batch it then makes one
// forward pass of each model.
type Stage struct {
	Name string
	// Once is true if the stage runs only once, before the first file, for example to load data
	// that stays or to warm up.
	Once   bool
	Models []string // ids of models that the stage runs
	Items  Expr     // items of a file: "ceil(seconds/30)"; 1 by default
	Batch  Expr     // items of a pass; 1 by default
	// Accumulate is the number of passes that make one training step: each takes that part of Batch,
	// and the optimizer steps after the last one. 1 by default.
	Accumulate int
	// ItemSeconds is the length of the audio in one item, in seconds; by default seconds/items.
	ItemSeconds Expr
	Tensors     []Tensor
	Cleanups    []Cleanup
	Seconds     Expr // time that the stage takes, without the costs of memory
	OnOOM       OnOOM
	// Stream is the CUDA stream of the stage: of its models' passes, and of the tensors that name no
	// stream. 0 is the default stream. The allocator reuses memory freed on a stream only for that
	// stream.
	Stream int
	// Footprint is the memory of the stage that an earlier run measured. If it is set, the simulation
	// uses it instead of the models and tensors.
	Footprint *Footprint
}

// MaxAllocations limits the passes of a stage and the allocations of a tensor in a file, because
// each of them is simulated. A simulation makes about a million a second.
const MaxAllocations = 10_000_000

// OfPass returns the number of items that a pass takes of a batch.
func (s *Stage) OfPass(batch int) int { return Passes(batch, max(1, s.Accumulate)) }

// Passes returns the number of passes for a number of items, with batch items in each.
func Passes(items, batch int) int { return (items + batch - 1) / max(1, batch) }

// expressions returns all expressions of the stage and its tensors.
func (s *Stage) expressions() []Expr {
	all := []Expr{s.Items, s.Batch, s.ItemSeconds, s.Seconds}
	for _, t := range s.Tensors {
		all = append(append(all, t.Size, t.Count, t.Kept), t.Shape...)
	}
	return all
}

// frees reports whether a model or tensor with this name is freed while files are processed: by a
// cleanup, or at the end of its stage or file.
func (s *Scenario) frees(name string) bool {
	cleanups := slices.Clone(s.Final)
	for i := range s.Stages {
		st := &s.Stages[i]
		if st.Once {
			continue
		}
		cleanups = append(cleanups, st.Cleanups...)
		if slices.ContainsFunc(st.Tensors, func(t Tensor) bool {
			return t.Name == name && !t.Until.Outlives(WithFile)
		}) {
			return true
		}
		if m, ok := s.Model(name); ok && !m.Resident && slices.Contains(st.Models, name) {
			return true
		}
	}
	return slices.ContainsFunc(cleanups, func(c Cleanup) bool {
		return slices.Contains(c.Frees, name)
	})
}

// BadValue returns the mistake for an expression that has no value, or a negative value, in a file.
// Lint reports most of these mistakes, but does not try every file.
func (s *Scenario) BadValue(e Expr, v Vars, err error) error {
	found := err.Error()
	if f, without := e.Eval(v); without == nil {
		found = shownValue(e, f)
	}
	return &strictyaml.Mistake{
		Path: s.Path, Line: max(1, e.at.Line), Column: max(1, e.at.Column), Severity: strictyaml.Error,
		Rule:     "expression",
		Expected: "a number of 0 or more for every file", Found: found + " " + inFile(v),
	}
}

// BadTensor returns the mistake for a tensor whose size or shape has no valid value in a file, as
// BadValue does for an expression.
func (s *Scenario) BadTensor(t Tensor, v Vars, err error) error {
	for _, e := range t.Shape {
		if f, without := e.Eval(v); without != nil || f < 0 {
			return s.BadValue(e, v, err)
		}
	}
	if len(t.Shape) > 0 {
		return s.BadValue(t.Shape[0], v, err)
	}
	return s.BadValue(t.Size, v, err)
}

// TooMany returns the mistake for an expression that requires more passes or allocations than can
// be simulated, in a file that Lint did not try.
func (s *Scenario) TooMany(e Expr, v Vars) error {
	return &strictyaml.Mistake{
		Path: s.Path, Line: max(1, e.at.Line), Column: max(1, e.at.Column), Severity: strictyaml.Error,
		Rule:     "unbounded",
		Expected: fmt.Sprintf("at most %d a file", MaxAllocations), Found: "more " + inFile(v),
		Advice: "each is simulated: let one stand for many",
	}
}

// OnOOM says what a stage does when memory runs out.
type OnOOM string

// The reactions of a stage when memory runs out.
const (
	OOMFails OnOOM = "fail" // the file fails, and the next one begins
	// OOMHalves empties the cache and tries again with half the batch. The stage keeps the smaller
	// batch for later files.
	OOMHalves OnOOM = "halve"
	OOMSkips  OnOOM = "skip" // the stage is abandoned, the file goes on
)

// A Tensor is memory that a stage allocates besides its models' weights and activations.
type Tensor struct {
	Name  string
	Size  Expr   // in bytes, if Shape is empty
	Shape []Expr // dimensions; elements have the type DType
	DType string
	Each  Span // Pass or WithStage: how often it is allocated
	Until Span // lives until the end of the pass, stage, file or run, or until a cleanup frees it
	Count Expr // how many are allocated at once; 1 by default
	// Kept is how many of them live until the end of the run instead, because something still refers
	// to them, such as a list, or a view of a part of the tensor; 0 by default.
	Kept Expr
	// Stream is the CUDA stream on which the tensor is allocated; 0 is the default stream.
	Stream int
	// PinMemory means that a DataLoader with pin_memory=True brings the tensor to the card. Workers
	// and Prefetch are its num_workers and prefetch_factor.
	PinMemory         bool
	Workers, Prefetch int
}

// maxPinned is the largest number of batches that a DataLoader may hold in pinned memory. No host
// has memory for so many, so a larger number is a typing mistake.
const maxPinned = 1000

// PinnedBuffers returns how many batches a DataLoader holds in pinned host memory: those that its
// workers prefetch (num_workers * prefetch_factor, torch/utils/data/dataloader.py), and the one in
// use.
func (t Tensor) PinnedBuffers() int { return 1 + t.Workers*t.Prefetch }

// A Span says until when memory is held.
type Span string

// The spans, from short to long.
const (
	Pass      Span = "pass"
	WithStage Span = "stage"
	WithFile  Span = "file"
	// UntilNext is the life of a variable that the next file overwrites: the old tensors are freed
	// after the new ones are allocated.
	UntilNext Span = "next"
	WithRun   Span = "run"
)

// Outlives reports whether the span is longer than other.
func (s Span) Outlives(other Span) bool {
	spans := []Span{Pass, WithStage, WithFile, UntilNext, WithRun}
	return slices.Index(spans, s) > slices.Index(spans, other)
}

// Bytes returns the size of one tensor, in bytes.
func (t Tensor) Bytes(v Vars) (int64, error) {
	if len(t.Shape) == 0 {
		return t.Size.Size(v)
	}
	bytes := float64(elementBytes[t.DType])
	for _, e := range t.Shape {
		n, err := e.Eval(v)
		if err != nil {
			return 0, err
		}
		if n < 0 {
			return 0, fmt.Errorf("expected a dimension of 0 or more of tensor %s, found %s = %g",
				t.Name, e, n)
		}
		bytes *= math.Floor(n + rounding)
	}
	if bytes > strictyaml.MaxBytes {
		return 0, fmt.Errorf("expected tensor %s below %g TiB, found %g bytes", t.Name,
			strictyaml.MaxBytes/(1<<40), bytes)
	}
	return int64(bytes), nil
}

// elementBytes has the size of an element in bytes for each name of a type.
var elementBytes = map[string]int64{
	"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2,
	"int8": 1, "uint8": 1, "bool": 1, "float8": 1,
}

// A Cleanup frees models and tensors between the checkpoints "Before NAME Cleanup" and "After NAME
// Cleanup".
type Cleanup struct {
	Name string
	// Frees are ids of models and names of tensors. If Frees is empty, the cleanup frees all memory
	// of its stage or, as a final cleanup, all memory of the file.
	Frees      []string
	EmptyCache bool // torch.cuda.empty_cache is called, too; see also Clear.Cleanups
}

// A Footprint is the memory of a stage that an earlier run measured. The memory that was allocated
// at the stage's start does not count.
type Footprint struct {
	Base      int64   // bytes
	PerSecond float64 // bytes per second of audio
	// Kept and KeptPerSecond are the part of this memory that stays allocated from the end of the
	// stage to the end of the file: bytes, and bytes per second of audio.
	Kept          int64
	KeptPerSecond float64
	// Reserved is the measured peak of reserved memory divided by the peak of allocated memory: at
	// least 1, or 0 if it was not measured.
	Reserved float64
}

func (s Stage) clone() Stage {
	s.Models = slices.Clone(s.Models)
	s.Tensors = slices.Clone(s.Tensors)
	for i := range s.Tensors {
		s.Tensors[i].Shape = slices.Clone(s.Tensors[i].Shape)
	}
	s.Cleanups = cloneCleanups(s.Cleanups)
	if s.Footprint != nil {
		f := *s.Footprint
		s.Footprint = &f
	}
	return s
}

func cloneCleanups(all []Cleanup) []Cleanup {
	all = slices.Clone(all)
	for i := range all {
		all[i].Frees = slices.Clone(all[i].Frees)
	}
	return all
}
