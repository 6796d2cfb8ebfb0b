package scenario

import (
	"maps"
	"math/rand/v2"
	"slices"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/strictyaml"
)

// A Scenario is a pipeline written down: the card, the allocator's settings, what its stages load
// and allocate, and when that is given back. Sizes are bytes, times are seconds.
type Scenario struct {
	Path  string // the file it was read from
	Name  string
	About string
	GPU   GPU
	// Env is the process's environment, verbatim: PYTORCH_CUDA_ALLOC_CONF and what else PyTorch
	// reads.
	Env map[string]string
	// MemoryFraction is torch.cuda.set_per_process_memory_fraction: the share of the card's total
	// that the allocator may reserve. 0: it was never called.
	MemoryFraction float64
	// ClearOnStart ends what a crashed run left on the card (GPU.Occupied), before the first file.
	ClearOnStart bool
	Files        Files
	Models       []Model
	// Initialization is the name of a single checkpoint at the start of each file; "" prints none.
	Initialization string
	Stages         []Stage
	// Final are the cleanups after a file's last stage: "Before Final Cleanup", "After Final
	// Cleanup".
	Final []Cleanup
	Clear Clear
	// RestartEvery is after how many files the process ends and begins anew; 0: never.
	RestartEvery int
	Costs        Costs
	Faults       []Fault

	places  places
	counted bool // Files.Count is what somebody gave
}

// A Mistake is one thing that is wrong with a file, or likely not what was meant.
type Mistake = strictyaml.Mistake

// A Severity says what follows from a mistake.
type Severity = strictyaml.Severity

// What follows from a mistake: the file is refused, or read.
const (
	Error   = strictyaml.Error
	Warning = strictyaml.Warning
)

// A GPU is the card that a scenario runs on.
type GPU struct {
	Card  string // "RTX 5080"; "" where the file gives a size
	Size  int64  // what the card is sold with, in bytes
	Total int64  // what CUDA reports as total (torch.cuda.mem_get_info), in bytes
	// What the CUDA context, its kernels and libraries take outside of the allocator, in bytes.
	Context  int64
	Occupied int64  // what other processes hold: a crashed run's, a desktop's; in bytes
	Source   string // where Total comes from
	// OwnContext says that Context is what the file says, and not what is usual for a card.
	OwnContext bool
}

// Files are the batch: how many, and how long.
type Files struct {
	Count int
	// Low and High are the shortest and the longest length of a file, in seconds.
	Low, High float64
	Seed      uint64
}

// Length is the length of the i-th file (from 1), in seconds. The same seed draws the same lengths,
// whatever the count.
func (f Files) Length(i int) float64 {
	if f.High <= f.Low {
		return f.Low
	}
	r := rand.New(rand.NewPCG(f.Seed, uint64(i)))
	return f.Low + (f.High-f.Low)*r.Float64()
}

// A Model is one that stages run. A model that is not resident is loaded by the first stage that
// runs it, and lives until a cleanup frees it; where no cleanup names it, until the end of the
// stage.
type Model struct {
	ID    string // by which stages, cleanups and faults name it
	Model string // as models.Lookup knows it: "whisper-large-v3"; "" where Weights says its size
	// Of its weights and activations, as models.ParseDType reads it; float16 where the file has
	// none.
	DType string
	// Weights is the size of a model that is not in the table, in bytes. Such a model has no
	// activations of its own.
	Weights  int64
	Resident bool // loaded before the first file, never freed
	Beams    int  // of a text decoder; 1 is greedy
	Tokens   int  // that it reads or writes per item
	// Eager is attention that makes the matrix of scores.
	Eager bool
	// Train makes each pass a training step: forward, backward, and Adam's, whose states stay with
	// the weights.
	Train bool
}

// Input is what a pass of the model is given.
func (m Model) Input(batch int, itemSeconds float64) models.Input {
	return models.Input{
		Batch: batch, Seconds: itemSeconds, Beams: m.Beams, Tokens: m.Tokens,
		Train: m.Train, Eager: m.Eager,
	}
}

// Clear says when torch.cuda.empty_cache is called, beside the cleanups that ask for it themselves.
type Clear struct {
	Every    int      // passes of any stage; 0: never
	Before   []string // stages
	After    []string // stages
	Cleanups bool     // at each cleanup
}

// Costs are what the allocator's calls of the driver take, in seconds. They make a pipeline that
// clears often slower.
type Costs struct {
	Malloc      float64 // a cudaMalloc
	Free        float64 // a cudaFree
	Synchronize float64 // a device synchronize, before cached blocks are released
	Load        float64 // loading a GiB of weights
}

// A Fault is a mistake made on purpose. One of Keep, Leak and Crash is set.
type Fault struct {
	Keep     string  // id of a model, or name of a tensor, that is not freed
	Share    float64 // of its bytes that stay; 1 is all
	Leak     int64   // bytes that stay allocated at each file
	Crash    int     // the file (from 1) in which the process dies
	Stage    string  // in which stage it leaks or crashes; "": the last one
	FromFile int     // the first file (from 1) in which it keeps or leaks
}

// SetFiles is how many files there are, where it is not the file that says so.
func (s *Scenario) SetFiles(n int) { s.Files.Count, s.counted = n, true }

// Clone is a copy that shares nothing which could be changed.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Env = maps.Clone(s.Env)
	c.Models = slices.Clone(s.Models)
	c.Stages = slices.Clone(s.Stages)
	for i := range c.Stages {
		c.Stages[i] = c.Stages[i].clone()
	}
	c.Final = cloneCleanups(s.Final)
	c.Clear.Before = slices.Clone(s.Clear.Before)
	c.Clear.After = slices.Clone(s.Clear.After)
	c.Faults = slices.Clone(s.Faults)
	return &c
}

// Model is the model of that id.
func (s *Scenario) Model(id string) (Model, bool) {
	i := slices.IndexFunc(s.Models, func(m Model) bool { return m.ID == id })
	if i < 0 {
		return Model{}, false
	}
	return s.Models[i], true
}

// Stage is the stage of that name, to be read or changed in place; nil where there is none.
func (s *Scenario) Stage(name string) *Stage {
	i := slices.IndexFunc(s.Stages, func(st Stage) bool { return st.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Stages[i]
}
