package scenario

import (
	"maps"
	"math/rand/v2"
	"slices"

	"vramsoak/pipeline/models"
)

// A Scenario describes a pipeline: the card, the allocator's settings, the memory that each stage
// loads and allocates, and when this memory is freed. Sizes are in bytes, times in seconds.
type Scenario struct {
	Path  string // the scenario's file
	Name  string
	About string
	GPU   GPU
	// Env has the environment variables of the process, as the file gives them, such as
	// PYTORCH_CUDA_ALLOC_CONF.
	Env map[string]string
	// MemoryFraction is the part of the card's total that the allocator may reserve, as set by
	// torch.cuda.set_per_process_memory_fraction. 0 means that the function was never called.
	MemoryFraction float64
	// ClearOnStart ends the processes that a crashed run left on the card, before the first file. This
	// frees the memory in GPU.Occupied.
	ClearOnStart bool
	Files        Files
	Models       []Model
	// Initialization is the name of a checkpoint at the start of each file; "" prints none.
	Initialization string
	Stages         []Stage
	// Final are the cleanups after a file's last stage. A cleanup named Final prints the
	// checkpoints "Before Final Cleanup" and "After Final Cleanup".
	Final []Cleanup
	Clear Clear
	// RestartEvery is the number of files after which a new process starts; 0: never.
	RestartEvery int
	Costs        Costs
	Faults       []Fault
	// Parameters are named numbers that expressions may use. Table has the rows of validate's table.
	Parameters []Parameter
	Table      []Row

	places  places
	counted bool // the file or SetFiles gave Files.Count
}

// A GPU is the card that a scenario runs on.
type GPU struct {
	Card  string // "RTX 5080"; "" if the file gives a size
	Size  int64  // the size in the card's data sheet, in bytes
	Total int64  // the total that CUDA reports (torch.cuda.mem_get_info), in bytes
	// Context is the memory of the CUDA context, its kernels and libraries outside of the allocator,
	// in bytes.
	Context  int64
	Occupied int64  // held by other processes, such as a crashed run or a desktop; in bytes
	Source   string // where Total comes from
	// OwnContext is true if the scenario file gives Context; otherwise Context is the usual size for
	// the card.
	OwnContext bool
}

// Files describes the batch: how many files there are, and how long they are.
type Files struct {
	Count int
	// Low and High are the shortest and the longest length of a file, in seconds.
	Low, High float64
	Seed      uint64
}

// Length returns the length of the i-th file (from 1), in seconds. It depends only on i, the seed
// and the range, not on the number of files.
func (f Files) Length(i int) float64 {
	if f.High <= f.Low {
		return f.Low
	}
	r := rand.New(rand.NewPCG(f.Seed, uint64(i)))
	return f.Low + (f.High-f.Low)*r.Float64()
}

// A Model is loaded by the first stage that runs it or, if it is resident, before the first file. A
// model that is not resident is freed by the cleanup that names it or, without such a cleanup, at
// the end of the stage.
type Model struct {
	ID    string // the name that stages, cleanups and faults use
	Model string // a name for models.Lookup: "whisper-large-v3"; "" if Weights gives the size
	// DType is the number format of the weights and activations, in the words of models.ParseDType;
	// float16 by default.
	DType string
	// Weights is the size of a model that package models does not know, in bytes. Such a model has no
	// activations.
	Weights  int64
	Resident bool // loaded before the first file, never freed
	Beams    int  // number of beams of a text decoder; 1 is greedy
	Tokens   int  // tokens that the model reads or writes per item
	// Eager makes attention compute the whole matrix of scores in memory.
	Eager bool
	// Train makes each pass a training step: a forward pass, a backward pass, and a step of the Adam
	// optimizer, whose states stay in memory with the weights.
	Train bool
	// Checkpointing keeps only the inputs of the model's layers for the backward pass, which computes
	// each layer again.
	Checkpointing bool
	// TrainLayers is the number of layers, from the last one, that train besides the head. The zero
	// Expr means that the whole model trains.
	TrainLayers Expr
}

// Input returns the input of one pass of the model: a batch of items, each with a number of
// seconds.
func (m Model) Input(batch int, itemSeconds float64) models.Input {
	return models.Input{
		Batch: batch, Seconds: itemSeconds, Beams: m.Beams, Tokens: m.Tokens,
		Train: m.Train, Eager: m.Eager, Checkpoint: m.Checkpointing,
	}
}

// Frozen returns how many of the model's layers, from the first one, do not train in a pass.
func (m Model) Frozen(of *models.Model, v Vars) (int, error) {
	if m.TrainLayers.String() == "" {
		return 0, nil
	}
	n, err := m.TrainLayers.Int(v)
	return max(0, of.Layers()-n), err
}

// Clear says when torch.cuda.empty_cache is called, in addition to the cleanups with EmptyCache.
type Clear struct {
	Every    int      // after so many passes of any stage; 0: never
	Before   []string // before these stages
	After    []string // after these stages
	Cleanups bool     // at each cleanup
}

// A Fault is a mistake of a pipeline that the simulation makes on purpose. Exactly one of Keep,
// Graph, Leak and Crash is set.
type Fault struct {
	// Graph is the id of a model in training. What autograd saves of each of its passes is never
	// freed, as if the program kept the loss with its graph.
	Graph    string
	Keep     string  // id of a model, or name of a tensor, that is not freed
	Share    float64 // the part of its bytes that stays; 1 is all
	Leak     int64   // bytes that stay allocated in each file
	Crash    int     // the file (from 1) in which the process dies
	Stage    string  // the stage that leaks or crashes; "": the last one
	FromFile int     // the first file (from 1) in which it keeps or leaks
}

// SetFiles sets the number of files, and so replaces the number in the scenario's file.
func (s *Scenario) SetFiles(n int) { s.Files.Count, s.counted = n, true }

// Clone returns a deep copy.
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
	c.Parameters = slices.Clone(s.Parameters)
	for i := range c.Parameters {
		c.Parameters[i].Try = slices.Clone(c.Parameters[i].Try)
	}
	c.Table = slices.Clone(s.Table)
	for i := range c.Table {
		c.Table[i].Values = maps.Clone(c.Table[i].Values)
	}
	return &c
}

// Model returns the model with an id, or false if there is none.
func (s *Scenario) Model(id string) (Model, bool) {
	i := slices.IndexFunc(s.Models, func(m Model) bool { return m.ID == id })
	if i < 0 {
		return Model{}, false
	}
	return s.Models[i], true
}

// Stage returns the stage with a name, or nil if there is none. The caller may change the stage
// through the pointer.
func (s *Scenario) Stage(name string) *Stage {
	i := slices.IndexFunc(s.Stages, func(st Stage) bool { return st.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Stages[i]
}
