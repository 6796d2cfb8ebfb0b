package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// Read reads a scenario, or a pipeline file, from YAML. name is the file's name for messages. The
// error joins a [*strictyaml.Mistake] for each mistake.
func Read(src []byte, name string) (*Scenario, error) {
	r := &reader{Reader: strictyaml.New(name), places: places{}}
	s := &Scenario{
		Path:  name,
		Files: Files{Count: 1, Low: defaultSeconds, High: defaultSeconds, Seed: 1},
		Costs: defaultCosts(),
	}
	if body := r.Document(src, "a scenario: at least stages:", example); body != nil {
		r.scenario(body, s)
	}
	s.places = r.places
	_, s.counted = r.places["files.count"]
	for _, m := range s.Lint() {
		if m.Severity == strictyaml.Error {
			r.Mistakes = append(r.Mistakes, &m)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// example is the advice in the error for an empty file.
const example = "docs/reference/pipeline-file.md has an example"

// A reader reads a scenario and remembers the positions of its parts.
type reader struct {
	*strictyaml.Reader
	places     places
	parameters []string // names of the file's parameters
}

// places are the positions of a scenario's parts in the file, by paths such as "clear.every" and
// "stages.0.batch".
type places map[string]strictyaml.Place

// defaultSeconds is the length of a file if the scenario gives none: five minutes.
const defaultSeconds = 300.0

func (r *reader) scenario(body ast.Node, s *Scenario) {
	stages := body
	var references []func() // checks of names that may be defined further below
	r.parameters = r.parameterNames(body)
	found := r.Mapping(body, strictyaml.Fields{
		"name": r.Text(&s.Name, "a name of one line"),
		"about": strictyaml.Value(r.Reader, &s.About, "a text", func(s string) (string,
			bool,
		) {
			return strings.TrimSpace(s), true
		}),
		"gpu": func(n ast.Node) { r.gpu(n, &s.GPU) },
		"env": func(n ast.Node) { s.Env = r.env(n) },
		"memory_fraction": r.marked("memory_fraction", strictyaml.Share(r.Reader,
			&s.MemoryFraction)),
		"clear_on_start": r.marked("clear_on_start", r.Flag(&s.ClearOnStart)),
		"files":          func(n ast.Node) { r.files(n, &s.Files) },
		"models":         func(n ast.Node) { s.Models = r.models(n) },
		"initialization": r.Text(&s.Initialization, "the name of a checkpoint"),
		"stages":         func(n ast.Node) { stages = n; s.Stages = r.stages(n, s, &references) },
		"final": func(n ast.Node) {
			s.Final = r.cleanups(n, "final", s, nil, &references)
		},
		"clear":         func(n ast.Node) { r.clear(n, s, &references) },
		"restart_every": r.marked("restart_every", r.Integer(&s.RestartEvery, 0)),
		"costs": func(n ast.Node) {
			r.Mapping(n, strictyaml.Fields{
				"malloc":         r.Seconds(&s.Costs.Malloc, "the time of a cudaMalloc"),
				"malloc_per_gib": r.Seconds(&s.Costs.MallocPerGiB, "its time for each GiB"),
				"free":           r.Seconds(&s.Costs.Free, "the time of a cudaFree"),
				"free_per_gib":   r.Seconds(&s.Costs.FreePerGiB, "its time for each GiB"),
				"failed_malloc":  r.Seconds(&s.Costs.FailedMalloc, "the time of a cudaMalloc that fails"),
				"synchronize":    r.Seconds(&s.Costs.Synchronize, "the time of a synchronize"),
				"load":           r.Seconds(&s.Costs.Load, "the time of loading a GiB"),
			})
		},
		"faults":     func(n ast.Node) { s.Faults = r.faults(n, s, &references) },
		"parameters": func(n ast.Node) { s.Parameters = r.readParameters(n) },
		"table":      func(n ast.Node) { s.Table = r.table(n) },
	})
	if len(s.Stages) == 0 && len(r.Mistakes) == 0 {
		expected := "stages: with at least one stage"
		if found["stages"] == nil {
			r.Add(strictyaml.Where(body), expected, "none", example)
		} else {
			r.Fail(stages, expected, "")
		}
	}
	for _, check := range references {
		check()
	}
}

// marked returns a function that records the position of a value under a path and then reads the
// value.
func (r *reader) marked(path string, read func(ast.Node)) func(ast.Node) {
	return func(n ast.Node) {
		if node := r.Resolve(n); node != nil {
			r.places[path] = strictyaml.Inside(node)
		}
		read(n)
	}
}

// gpu reads the card by name or by size. The keys total, context and occupied override the values
// of a known card.
func (r *reader) gpu(n ast.Node, g *GPU) {
	node := r.Resolve(n)
	if node == nil {
		return
	}
	card := func(n ast.Node) {
		var name string
		r.Text(&name, "a card such as RTX 5080 or 16GiB")(n)
		if name == "" {
			return
		}
		known, err := Card(name)
		if err != nil {
			advice := cardAdvice(name)
			if _, err := lex.ParseSize(name); err == nil {
				advice = "write its unit: 16GiB"
			}
			r.Add(strictyaml.Where(r.Resolve(n)),
				"a card such as RTX 5080, or a size such as 16GiB", strconv.Quote(name), advice)
			return
		}
		occupied := g.Occupied
		*g = known
		g.Occupied = occupied
	}
	if _, scalar := strictyaml.Scalar(node); scalar {
		r.marked("gpu", card)(node)
		return
	}
	own := GPU{Total: -1, Context: -1}
	found := r.Mapping(node, strictyaml.Fields{
		"card":     r.marked("gpu", card),
		"total":    r.marked("gpu", r.Size(&own.Total, "a size")),
		"context":  r.marked("gpu.context", r.Size(&own.Context, "a size")),
		"occupied": r.marked("gpu.occupied", r.Size(&own.Occupied, "a size")),
	})
	if own.Total >= 0 {
		if found["card"] == nil {
			*g = sized(own.Total)
		}
		g.Total, g.Source = own.Total, "the file"
	}
	if own.Context >= 0 {
		g.Context, g.OwnContext = own.Context, true
	}
	g.Occupied = own.Occupied
	if g.Total > 0 && g.Context+g.Occupied >= g.Total {
		r.Fail(node, fmt.Sprintf("context and occupied below the total of %s",
			record.FormatBytes(g.Total)), "")
	}
}

func (r *reader) env(n ast.Node) map[string]string {
	env := map[string]string{}
	all, _ := r.Entries(n, 0)
	for _, e := range all {
		node := r.Resolve(e.Value)
		if node == nil {
			continue
		}
		s, ok := strictyaml.Scalar(node)
		if b, isBool := node.(*ast.BoolNode); isBool {
			s, ok = b.GetToken().Value, true
		}
		if !ok {
			r.Fail(node, "a text, as the environment has it", "put it in quotes")
			continue
		}
		env[e.Key] = s
		r.places["env."+e.Key] = strictyaml.Inside(node)
		r.places["env:"+e.Key] = strictyaml.Where(e.At)
	}
	return env
}

func (r *reader) files(n ast.Node, f *Files) {
	seed := 1
	r.Mapping(n, strictyaml.Fields{
		"count": r.marked("files.count", r.Integer(&f.Count, 1)),
		"seconds": func(n ast.Node) {
			node := r.Resolve(n)
			if node == nil {
				return
			}
			s, _ := strictyaml.Scalar(node)
			low, high, isRange := strings.Cut(s, "-")
			a, okLow := strictyaml.ParseSeconds(strings.TrimSpace(low))
			b, okHigh := a, true
			if isRange {
				b, okHigh = strictyaml.ParseSeconds(strings.TrimSpace(high))
			}
			if !okLow || !okHigh || a <= 0 || b < a {
				r.Fail(node, "the length of a file such as 300, or from-to such as 60-600 "+
					"(seconds) or 1m-10m", "")
				return
			}
			f.Low, f.High = a, b
		},
		"seed": r.Integer(&seed, 0),
	})
	f.Seed = uint64(seed)
}

func (r *reader) faults(n ast.Node, s *Scenario, references *[]func()) []Fault {
	var all []Fault
	for i, item := range r.List(n) {
		f := Fault{Share: 1, FromFile: 1}
		r.places[fmt.Sprintf("faults.%d", i)] = strictyaml.Where(item)
		found := r.Mapping(item, strictyaml.Fields{
			"keep":      r.Text(&f.Keep, "the id of a model or the name of a tensor"),
			"graph":     r.Text(&f.Graph, "the id of a model that trains"),
			"share":     strictyaml.Share(r.Reader, &f.Share),
			"leak":      r.Size(&f.Leak, "a size"),
			"crash":     r.Integer(&f.Crash, 1),
			"stage":     r.Text(&f.Stage, "the name of a stage"),
			"from_file": r.Integer(&f.FromFile, 1),
		})
		kinds := slices.DeleteFunc([]string{"keep", "graph", "leak", "crash"}, func(k string) bool {
			return found[k] == nil
		})
		if len(kinds) != 1 {
			r.Fail(item, "one of keep, graph, leak and crash", "")
			continue
		}
		*references = append(*references, func() {
			if f.Keep != "" {
				r.known(found["keep"], f.Keep, s.holders(nil),
					"the id of a model or the name of a tensor that stays")
			}
			each := slices.DeleteFunc(s.stageNames(), func(name string) bool {
				return s.Stage(name).Once
			})
			switch {
			case f.Keep != "":
			case f.Graph != "":
				r.known(found["graph"], f.Graph, s.training(), "the id of a model with train: true")
			case f.Stage != "":
				r.known(found["stage"], f.Stage, each,
					"the name of a stage that is made for each file")
			case len(each) == 0:
				r.Fail(item, "a stage that is made for each file, in which it leaks or crashes", "")
			}
		})
		all = append(all, f)
	}
	return all
}

func (r *reader) clear(n ast.Node, s *Scenario, references *[]func()) {
	c := &s.Clear
	stages := func(key string, to *[]string) func(ast.Node) {
		return func(n ast.Node) {
			r.Texts(to, "the name of a stage")(n)
			*references = append(*references, func() {
				for i, item := range r.List(n) {
					if i < len(*to) {
						r.known(item, (*to)[i], s.stageNames(), "the name of a stage")
					}
				}
			})
			r.marked("clear."+key, func(ast.Node) {})(n)
		}
	}
	r.Mapping(n, strictyaml.Fields{
		"every":    r.marked("clear.every", r.Integer(&c.Every, 0)),
		"before":   stages("before", &c.Before),
		"after":    stages("after", &c.After),
		"cleanups": r.marked("clear.cleanups", r.Flag(&c.Cleanups)),
	})
}

// known adds a mistake for the node n if name is not in all. what describes the names in the
// message.
func (r *reader) known(n ast.Node, name string, all []string, what string) {
	if name == "" || slices.Contains(all, name) {
		return
	}
	node := r.Resolve(n)
	if node == nil {
		return
	}
	have := "there are none"
	if len(all) > 0 {
		have = "there are " + strings.Join(slices.Compact(slices.Clone(all)), ", ")
	}
	r.Add(strictyaml.Where(node), what+strictyaml.Meant(name, all), strconv.Quote(name), have)
}

// SaysFiles reports whether the file gives the number of files.
func (s *Scenario) SaysFiles() bool {
	_, said := s.places["files.count"]
	return said
}

func (s *Scenario) stageNames() []string {
	var all []string
	for _, st := range s.Stages {
		all = append(all, st.Name)
	}
	return all
}

// holders returns the names of all models and tensors that a cleanup could free: those of all
// stages up to last, or of all stages if last is nil.
func (s *Scenario) holders(last *Stage) []string {
	all := map[string]bool{}
	for i := range s.Stages {
		st := &s.Stages[i]
		for _, id := range st.Models {
			all[id] = true
		}
		for _, t := range st.Tensors {
			all[t.Name] = true
		}
		if last != nil && st.Name == last.Name {
			break
		}
	}
	delete(all, "") // a tensor without a name, which was reported before
	return slices.Sorted(maps.Keys(all))
}
