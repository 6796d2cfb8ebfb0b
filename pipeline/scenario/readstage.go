package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/models"
)

func (r *reader) models(n ast.Node) []Model {
	var all []Model
	for i, item := range r.List(n) {
		m := Model{DType: "float16", Beams: 1}
		r.places[fmt.Sprintf("models.%d", i)] = strictyaml.Where(item)
		before := len(r.Mistakes)
		found := r.Mapping(item, strictyaml.Fields{
			"id":    r.Text(&m.ID, "an id"),
			"model": r.lookup(&m.Model),
			"dtype": r.weightType(&m.DType),
			"weights": func(n ast.Node) {
				r.Size(&m.Weights, "the size of the weights")(n)
				if m.Weights > maxWeights {
					r.Fail(r.Resolve(n), "weights of up to "+record.FormatBytes(maxWeights), "")
				}
			},
			"resident": r.Flag(&m.Resident),
			"beams":    r.Integer(&m.Beams, 1),
			"tokens":   r.Integer(&m.Tokens, 0),
			"eager":    r.Flag(&m.Eager),
			"train":    r.Flag(&m.Train),
			"checkpointing": r.marked(fmt.Sprintf("models.%d.checkpointing", i),
				r.Flag(&m.Checkpointing)),
			"train_layers": r.marked(fmt.Sprintf("models.%d.train_layers", i),
				r.expression(&m.TrainLayers)),
		})
		if m.ID == "" {
			m.ID = m.Model
		}
		switch {
		case len(found) == 0 && len(r.Mistakes) > before: // already reported
			continue
		case (found["model"] == nil) == (found["weights"] == nil):
			r.Fail(item, "either a model (its name) or weights (its size)", "")
		case m.Model == "" && (m.Train || m.Eager):
			r.Fail(item, "train and eager beside a model that is known by its name",
				"of weights only the size is known")
		case m.ID == "" && found["id"] == nil:
			r.Fail(item, "an id", "")
		}
		for _, key := range []string{"checkpointing", "train_layers"} {
			if found[key] != nil {
				r.layered(found[key], key, m)
			}
		}
		if slices.ContainsFunc(all, func(other Model) bool { return other.ID == m.ID }) {
			r.Fail(cmp.Or(found["id"], item), "an id that no other model has",
				"give each its own id")
		}
		all = append(all, m)
	}
	return all
}

// layered adds a mistake for the value of a key that needs a model in training whose layers repeat.
func (r *reader) layered(n ast.Node, key string, m Model) {
	node := r.Resolve(n)
	if node == nil {
		return
	}
	if !m.Train {
		r.Fail(node, key+" beside train: true", "it changes nothing without training")
		return
	}
	if of, err := models.Lookup(m.Model); err == nil && of.Layers() == 0 {
		r.Fail(node, key+" of a model whose layers repeat: "+strings.Join(models.Layered(), ", "),
			"the layers of "+of.Name+" are not known one by one")
	}
}

// maxWeights is the largest size of weights that is accepted, in bytes. No card has so much memory,
// so a larger number is a typing mistake.
const maxWeights = 4 << 40

// lookup returns a function that reads the name of a known model into to.
func (r *reader) lookup(to *string) func(ast.Node) {
	return func(n ast.Node) {
		r.Text(to, "the name of a model")(n)
		if *to == "" {
			return
		}
		if _, err := models.Lookup(*to); err != nil {
			r.Add(strictyaml.Where(r.Resolve(n)), "a model that is known", strconv.Quote(*to),
				adviceOf(err)+" For another one give weights: its size")
		}
	}
}

// adviceOf returns the advice of an error about an unknown model or type.
func adviceOf(err error) string {
	if unknown, ok := errors.AsType[*models.UnknownError](err); ok {
		return unknown.Advice
	}
	return err.Error()
}

// weightType returns a function that reads the number format of a model's weights into to.
func (r *reader) weightType(to *string) func(ast.Node) {
	return func(n ast.Node) {
		var s string
		r.Text(&s, "the type of the weights")(n)
		if s == "" {
			return
		}
		if _, err := models.ParseDType(s); err != nil {
			r.Add(strictyaml.Where(r.Resolve(n)), "the type of the weights", strconv.Quote(s),
				adviceOf(err))
			return
		}
		*to = s
	}
}

func (r *reader) stages(n ast.Node, s *Scenario, references *[]func()) []Stage {
	var all []Stage
	for i, item := range r.List(n) {
		st, name := r.stage(item, fmt.Sprintf("stages.%d", i), s, references)
		if st.Name != "" && slices.ContainsFunc(all, func(other Stage) bool {
			return other.Name == st.Name
		}) {
			r.Fail(name, "a name that no other stage has", "give each its own name")
		}
		all = append(all, st)
	}
	return all
}

// stage reads a stage from a list item. It also returns the node of the stage's name, for messages.
// It adds checks of names that the file may define later to references.
func (r *reader) stage(item ast.Node, path string, s *Scenario, references *[]func()) (st Stage,
	name ast.Node,
) {
	st = Stage{
		Items: Constant(1), Batch: Constant(1), ItemSeconds: mustParse("seconds / max(1, items)"),
		Seconds: Constant(0), OnOOM: OOMFails, Accumulate: 1,
	}
	before := len(r.Mistakes)
	found := r.Mapping(item, strictyaml.Fields{
		"name": r.Text(&st.Name, "the name of a stage"),
		"once": r.Flag(&st.Once),
		"models": func(n ast.Node) {
			r.Texts(&st.Models, "the id of a model")(n)
			ids := st.Models
			*references = append(*references, func() {
				for i, item := range r.List(n) {
					if i < len(ids) {
						r.known(item, ids[i], s.modelIDs(), "the id of a model")
					}
				}
			})
		},
		"items": r.marked(path+".items", r.expression(&st.Items)),
		"batch": r.marked(path+".batch", r.positive(r.expression, &st.Batch,
			"a batch of 1 or more")),
		"accumulate":   r.marked(path+".accumulate", r.Integer(&st.Accumulate, 1)),
		"item_seconds": r.marked(path+".item_seconds", r.expression(&st.ItemSeconds)),
		"seconds":      r.marked(path+".seconds", r.duration(&st.Seconds)),
		"tensors":      func(n ast.Node) { st.Tensors = r.tensors(n, path) },
		"cleanups":     func(ast.Node) {}, // read below, after the tensors that they name
		"on_oom": r.marked(path+".on_oom", strictyaml.OneOf(r.Reader, &st.OnOOM, OOMFails,
			OOMHalves, OOMSkips)),
		"stream":    r.Integer(&st.Stream, 0),
		"footprint": func(n ast.Node) { st.Footprint = r.footprint(n) },
	})
	if found["name"] == nil && (len(found) > 0 || len(r.Mistakes) == before) {
		r.Fail(item, "a name for the stage", `add name: "Transcription"`)
	}
	if n := found["cleanups"]; n != nil {
		st.Cleanups = r.cleanups(n, path, s, &st.Name, references)
	}
	st.Items, st.Batch = st.Items.salted(st.Name+".items"), st.Batch.salted(st.Name+".batch")
	st.ItemSeconds, st.Seconds = st.ItemSeconds.salted(st.Name+".item_seconds"),
		st.Seconds.salted(st.Name+".seconds")
	for i := range st.Tensors {
		st.Tensors[i] = st.Tensors[i].salted(st.Name)
		if st.Tensors[i].Stream == ofStage {
			st.Tensors[i].Stream = st.Stream
		}
	}
	return st, cmp.Or(found["name"], item)
}

func (t Tensor) salted(stage string) Tensor {
	at := stage + "." + t.Name
	t.Size, t.Count = t.Size.salted(at+".size"), t.Count.salted(at+".count")
	t.Kept = t.Kept.salted(at + ".kept")
	for i := range t.Shape {
		t.Shape[i] = t.Shape[i].salted(at + "." + strconv.Itoa(i))
	}
	return t
}

// positive returns a function that reads an expression into to. If the expression is a plain
// number, it must be above 0.
func (r *reader) positive(read func(*Expr) func(ast.Node), to *Expr, what string) func(ast.Node) {
	return func(n ast.Node) {
		e, before := *to, len(r.Mistakes)
		read(&e)(n)
		if len(r.Mistakes) > before {
			return
		}
		if f, constant := e.Constant(); constant && f <= 0 {
			r.Fail(r.Resolve(n), what, "")
			return
		}
		*to = e
	}
}

// duration returns a function that reads an expression in seconds, or a time with a unit such as
// 5m, into to.
func (r *reader) duration(to *Expr) func(ast.Node) {
	return func(n ast.Node) {
		if node := r.Resolve(n); node != nil {
			if s, ok := strictyaml.Scalar(node); ok {
				if f, ok := strictyaml.ParseSeconds(s); ok {
					*to = Constant(f)
					return
				}
			}
		}
		r.expression(to)(n)
	}
}

// ofStage is the stream of a tensor that names no stream. The stage's stream replaces it once it is
// known.
const ofStage = -1

func (r *reader) tensors(n ast.Node, stage string) []Tensor {
	var all []Tensor
	for i, item := range r.List(n) {
		path := fmt.Sprintf("%s.tensors.%d", stage, i)
		t := Tensor{DType: "float32", Each: WithStage, Count: Constant(1), Stream: ofStage, Prefetch: 2}
		before := len(r.Mistakes)
		found := r.Mapping(item, strictyaml.Fields{
			"name": r.Text(&t.Name, "the name of a tensor"),
			"size": r.marked(path+".size", func(n ast.Node) {
				r.positive(r.expression, &t.Size, "a size above 0")(n)
				if f, constant := t.Size.Constant(); constant && f > 0 {
					r.Unitless(r.Resolve(n), t.Size.String(), int64(f))
				}
			}),
			"shape": r.marked(path+".shape", func(n ast.Node) {
				for _, item := range r.List(n) {
					var e Expr
					r.positive(r.expression, &e, "a dimension above 0")(item)
					t.Shape = append(t.Shape, e)
				}
			}),
			"dtype": strictyaml.OneOf(r.Reader, &t.DType,
				slices.Sorted(maps.Keys(elementBytes))...),
			"each": strictyaml.OneOf(r.Reader, &t.Each, Pass, WithStage),
			"until": strictyaml.OneOf(r.Reader, &t.Until, Pass, WithStage, WithFile, UntilNext,
				WithRun),
			"count":      r.marked(path+".count", r.expression(&t.Count)),
			"kept":       r.marked(path+".kept", r.expression(&t.Kept)),
			"stream":     r.Integer(&t.Stream, 0),
			"pin_memory": r.Flag(&t.PinMemory),
			"workers":    r.Integer(&t.Workers, 0),
			"prefetch":   r.Integer(&t.Prefetch, 1),
		})
		if t.Until == "" {
			t.Until = t.Each
		}
		switch {
		case len(found) == 0 && len(r.Mistakes) > before: // already reported
			continue
		case found["name"] == nil:
			r.Fail(item, "a name for the tensor", "")
		case (found["size"] == nil) == (found["shape"] == nil):
			r.Fail(item, "either a size or a shape", "")
		case t.Until == Pass && t.Each != Pass:
			r.Fail(cmp.Or(found["until"], item),
				"until: stage, file, next or run for what is allocated once a stage", "or add each: pass")
		case t.Until == WithRun && found["kept"] != nil:
			r.Fail(found["kept"], "kept beside an until that is shorter than run",
				"with until: run all of them are kept")
		case !t.PinMemory && (found["workers"] != nil || found["prefetch"] != nil):
			r.Fail(cmp.Or(found["workers"], found["prefetch"]), "pin_memory: true beside workers and "+
				"prefetch", "they say how many batches the loader pins")
		case t.PinnedBuffers() > maxPinned:
			r.Fail(cmp.Or(found["workers"], found["prefetch"]), fmt.Sprintf("at most %d batches in "+
				"pinned memory, workers x prefetch + 1", maxPinned), "")
		}
		if t.Name != "" && slices.ContainsFunc(all, func(other Tensor) bool {
			return other.Name == t.Name
		}) {
			r.Fail(cmp.Or(found["name"], item), "a name that no other tensor of the stage has",
				"give each its own name")
		}
		all = append(all, t)
	}
	return all
}

// cleanups reads the cleanups of the stage with this name or, if stage is nil, the cleanups at the
// end of a file.
func (r *reader) cleanups(n ast.Node, path string, s *Scenario, stage *string,
	references *[]func(),
) []Cleanup {
	var all []Cleanup
	for _, item := range r.List(n) {
		var c Cleanup
		var named ast.Node
		before := len(r.Mistakes)
		found := r.Mapping(item, strictyaml.Fields{
			"name": r.Text(&c.Name, "the name of a cleanup"),
			"frees": func(n ast.Node) {
				named = n
				r.Texts(&c.Frees, "the id of a model or the name of a tensor")(n)
			},
			"empty_cache": r.Flag(&c.EmptyCache),
		})
		switch {
		case len(found) == 0 && len(r.Mistakes) > before: // already reported
			continue
		case found["name"] == nil:
			r.Fail(item, "a name for the cleanup", `add name: "Whisper"`)
		}
		c.Name = strings.TrimSuffix(c.Name, " Cleanup")
		if c.Name != "" && slices.ContainsFunc(all, func(other Cleanup) bool {
			return other.Name == c.Name
		}) {
			r.Fail(cmp.Or(found["name"], item), "a name that no other cleanup of the stage has",
				"give each its own name")
		}
		if named != nil {
			frees := c.Frees
			*references = append(*references, func() {
				var last *Stage
				if stage != nil {
					last = s.Stage(*stage)
				}
				for i, item := range r.List(named) {
					if i < len(frees) {
						r.known(item, frees[i], s.holders(last),
							"what this stage or one before it loads or allocates")
					}
				}
			})
		}
		r.places[path+".cleanups."+c.Name] = strictyaml.Where(item)
		all = append(all, c)
	}
	return all
}

func (r *reader) footprint(n ast.Node) *Footprint {
	f := &Footprint{}
	var slope, kept int64
	r.Mapping(n, strictyaml.Fields{
		"base":            r.Size(&f.Base, "a size"),
		"per_second":      r.Size(&slope, "a size per second of audio"),
		"kept":            r.Size(&f.Kept, "a size"),
		"kept_per_second": r.Size(&kept, "a size per second of audio"),
		"reserved":        r.Number(&f.Reserved, 1, 100, "a ratio of 1 to 100"),
	})
	f.PerSecond, f.KeptPerSecond = float64(slope), float64(kept)
	return f
}

func (s *Scenario) modelIDs() []string {
	var all []string
	for _, m := range s.Models {
		all = append(all, m.ID)
	}
	return all
}

func mustParse(text string) Expr {
	e, err := ParseExpr(text)
	if err != nil {
		panic(err)
	}
	return e
}
