package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// Lint returns the errors and warnings of a scenario in the order of the file. The package
// documentation lists all rules. [Read] fails if a scenario has errors, so Lint finds only warnings
// in a scenario from Read. If the scenario or its card is changed afterwards, Lint may return
// errors too.
func (s *Scenario) Lint() []strictyaml.Mistake {
	l := &linter{s: s}
	l.environment()
	l.stages()
	l.policies()
	l.models()
	l.faults()
	l.parameters()
	l.training()
	slices.SortStableFunc(l.found, func(a, b strictyaml.Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return l.found
}

// A linter collects mistakes.
type linter struct {
	s     *Scenario
	found []strictyaml.Mistake
}

// say adds a mistake in the value at a path of the scenario, such as clear.every. If the value is a
// text, text is the value, and offset is the byte of text at which the mistake is.
func (l *linter) say(
	severity strictyaml.Severity, rule, path string, text string, offset int, expected, found,
	advice string,
) {
	p := l.s.places[path]
	if p.Line == 0 {
		// The scenario was made in code, so there is no position in a file.
		p = strictyaml.Place{Line: 1, Column: 1}
	}
	if p.Direct {
		p.Column += len([]rune(text[:min(offset, len(text))]))
	}
	l.found = append(l.found, strictyaml.Mistake{
		Path: l.s.Path, Line: p.Line, Column: p.Column, Severity: severity, Rule: rule,
		Expected: expected, Found: found, Advice: advice,
	})
}

// warn adds a warning about the value at a path, such as clear.every.
func (l *linter) warn(rule, path, expected, found, advice string) {
	l.say(strictyaml.Warning, rule, path, "", 0, expected, found, advice)
}

// fail adds an error about the value at a path, such as clear.every.
func (l *linter) fail(rule, path, expected, found, advice string) {
	l.say(strictyaml.Error, rule, path, "", 0, expected, found, advice)
}

// sampleTotal is the memory of a card, in bytes, with which the linter tries expressions if the
// file names no card.
const sampleTotal = 16 * record.GiB

// lengths returns the lengths of files, in seconds, with which the linter tries expressions.
func (l *linter) lengths() []float64 {
	f := l.s.Files
	if f.High > f.Low {
		return []float64{f.Low, (f.Low + f.High) / 2, f.High}
	}
	return []float64{f.Low}
}

// triedFiles is the number of files for which an expression is tried if it depends on the file's
// number.
const triedFiles = 1000

// tried returns the variables with which the linter tries a stage's expressions: those of the
// shortest, a middle and the longest file. If the expressions depend on the file's number or are
// random, it returns those of the first thousand files and of the last.
func (l *linter) tried(st *Stage) []Vars {
	byFile := false
	for _, e := range st.expressions() {
		byFile = byFile || e.Uses("file", "random")
	}
	var all []Vars
	if !byFile {
		for _, seconds := range l.lengths() {
			all = append(all, l.vars(seconds))
		}
		return all
	}
	count := max(1, l.s.Files.Count)
	for i := 1; i <= min(count, triedFiles); i++ {
		all = append(all, l.vars(l.s.Files.Length(i)))
		all[i-1].File = i
	}
	if count > triedFiles {
		v := l.vars(l.s.Files.Length(count))
		v.File = count
		all = append(all, v)
	}
	return all
}

// inFile returns a phrase for messages about a file: "in a file of 300 s".
func inFile(v Vars) string {
	switch v.File {
	case 0:
		return "before the first file"
	case 1:
		return fmt.Sprintf("in a file of %.4g s", v.Seconds)
	}
	return fmt.Sprintf("in file %d, of %.4g s", v.File, v.Seconds)
}

// stages tries the expressions of all stages, and reports expressions without a valid value.
func (l *linter) stages() {
	for i := range l.s.Stages {
		st := &l.s.Stages[i]
		path := fmt.Sprintf("stages.%d", i)
		if st.Items.Uses("items", "batch", "pass", "item_seconds") {
			l.fail("expression", path+".items", "items by seconds, file, files, total and free",
				quoted(st.Items), "items come first, then the batch")
			continue
		}
		if st.Batch.Uses("batch", "pass", "item_seconds") {
			l.fail("expression", path+".batch",
				"a batch by seconds, items, file, files, total and free", quoted(st.Batch), "")
			continue
		}
		if st.ItemSeconds.Uses("item_seconds") {
			l.fail("expression", path+".item_seconds",
				"item_seconds by seconds, items, batch, pass, file, files, total and free",
				quoted(st.ItemSeconds), "it cannot use its own value")
			continue
		}
		l.onlyTensorsUseIndex(st, path)
		l.batch(st, path)
		for _, v := range l.tried(st) {
			if !l.evaluates(st, path, v) {
				break
			}
		}
	}
}

// onlyTensorsUseIndex adds a mistake for each expression of a stage that uses index, which is the
// number of a tensor among its count.
func (l *linter) onlyTensorsUseIndex(st *Stage, path string) {
	check := func(at string, e Expr) {
		if e.Uses("index") {
			l.fail("expression", path+at, "index only in the size or the shape of a tensor", quoted(e),
				"it is the number of a tensor among its count")
		}
	}
	check(".items", st.Items)
	check(".batch", st.Batch)
	check(".item_seconds", st.ItemSeconds)
	check(".seconds", st.Seconds)
	for i, t := range st.Tensors {
		check(fmt.Sprintf(".tensors.%d.count", i), t.Count)
		check(fmt.Sprintf(".tensors.%d.kept", i), t.Kept)
	}
}

func quoted(e Expr) string { return strconv.Quote(e.String()) }

// vars returns the values of the variables at the start of a stage, in a file of that length.
func (l *linter) vars(seconds float64) Vars {
	s := l.s
	v := Vars{
		Seconds: seconds, File: 1, Files: max(1, s.Files.Count), Total: s.GPU.Total, Pass: 1,
		Seed: s.Files.Seed, Parameters: s.Values(),
	}
	if v.Total == 0 {
		v.Total = sampleTotal
	}
	v.Free = max(0, v.Total-s.GPU.Context-s.GPU.Occupied)
	return v
}

// batch checks that a stage's batch is a whole number of 1 or more, and not larger than the items
// of the longest file.
func (l *linter) batch(st *Stage, path string) {
	if f, constant := st.Batch.Constant(); constant && f != math.Trunc(f) {
		l.fail("batch", path+".batch", "a whole number of items", quoted(st.Batch),
			fmt.Sprintf("write %d, or floor(...)", max(1, int(f))))
		return
	}
	fits := false
	var most int
	for _, v := range l.tried(st) {
		var err error
		if v.Items, err = st.Items.Int(v); err != nil {
			return // evaluates reports the error
		}
		most = max(most, v.Items)
		b, err := st.Batch.Eval(v)
		if err != nil {
			return
		}
		if b < 1-rounding {
			l.fail("batch", path+".batch", "a batch of 1 or more for every file",
				shownValue(st.Batch, b)+" "+inFile(v), "write max(1, ...)")
			return
		}
		fits = fits || b <= float64(v.Items)+rounding
	}
	if !fits && most > 0 {
		f, _ := st.Batch.Eval(l.varsWith(st, l.s.Files.High))
		l.warn("batch", path+".batch",
			fmt.Sprintf("a batch of up to %d, the items of the longest file", most),
			shownValue(st.Batch, f), "no batch is ever full: the memory is that of a smaller one")
	}
}

// varsWith returns the values of a stage's variables, including the number of items.
func (l *linter) varsWith(st *Stage, seconds float64) Vars {
	v := l.vars(seconds)
	v.Items, _ = st.Items.Int(v) // an error was reported before
	return v
}

// evaluates tries all expressions of a stage for one file, and reports whether each has a valid
// value. It adds a mistake for each expression without a valid value.
func (l *linter) evaluates(st *Stage, path string, v Vars) bool {
	before := len(l.found)
	try := func(at string, e Expr) bool {
		f, err := e.Eval(v)
		switch {
		case err != nil:
			l.fail("expression", path+at, "a number of 0 or more for every file",
				fmt.Sprintf("%v %s", err, inFile(v)), "")
		case f < 0 || f > strictyaml.MaxBytes:
			l.fail("expression", path+at, "a number of 0 or more for every file", shownValue(e, f)+
				" "+inFile(v), "")
		default:
			return true
		}
		return false
	}
	if !try(".items", st.Items) {
		return false
	}
	v.Items, _ = st.Items.Int(v) // no error: it was tried
	if !try(".batch", st.Batch) {
		return false
	}
	v.Batch, _ = st.Batch.Int(v) // no error: it was tried
	v.Batch = min(max(1, st.OfPass(v.Batch)), max(1, v.Items))
	passes := Passes(v.Items, v.Batch)
	if passes > MaxAllocations {
		l.fail("unbounded", path+".items", fmt.Sprintf("at most %d passes a file", MaxAllocations),
			fmt.Sprintf("%d (%s) %s", passes, shownValue(st.Items, float64(v.Items)), inFile(v)),
			"each is simulated")
		return false
	}
	if try(".item_seconds", st.ItemSeconds) {
		v.ItemSeconds, _ = st.ItemSeconds.Eval(v) // no error: it was tried
	}
	try(".seconds", st.Seconds)
	for i, t := range st.Tensors {
		at := fmt.Sprintf(".tensors.%d", i)
		v.Index = 0
		if try(at+".count", t.Count) {
			l.bounded(t, path+at, path, passes, v)
		}
		try(at+".kept", t.Kept)
		count, _ := t.Count.Int(v) // an error was reported before
		for _, v.Index = range []int{1, max(1, count)} {
			sound := true
			for _, e := range t.Shape {
				sound = sound && try(at+".shape", e)
			}
			if len(t.Shape) == 0 {
				sound = try(at+".size", t.Size)
			}
			if _, err := t.Bytes(v); err != nil && sound {
				sound = false
				l.fail("expression", path+at+".shape", "a tensor of fewer elements",
					fmt.Sprintf("%v %s", err, inFile(v)), "")
			}
			if !sound {
				break
			}
		}
	}
	return len(l.found) == before
}

// bounded adds a mistake if a tensor is allocated more than MaxAllocations times in a file.
func (l *linter) bounded(t Tensor, at, stage string, passes int, v Vars) {
	each := 1
	if t.Each == Pass {
		each = passes
	}
	count, err := t.Count.Eval(v)
	if err != nil || count*float64(each) <= MaxAllocations {
		return // evaluates reports err
	}
	place := at + ".count"
	if _, said := l.s.places[place]; !said {
		place = stage + ".items"
	}
	l.fail("unbounded", place, fmt.Sprintf("at most %d allocations of tensor %s a file",
		MaxAllocations, t.Name),
		fmt.Sprintf("%.4g %s", count*float64(each), inFile(v)),
		"each is simulated: let one stand for many")
}

// passes returns the approximate number of passes of the whole run, from files of middle length.
func (l *linter) passes() float64 {
	sum := 0.0
	for i := range l.s.Stages {
		st := &l.s.Stages[i]
		v := l.vars((l.s.Files.Low + l.s.Files.High) / 2)
		items, err := st.Items.Int(v)
		if err != nil {
			continue // evaluates reports the error
		}
		v.Items = items
		batch, err := st.Batch.Int(v)
		if err != nil {
			continue
		}
		n := math.Ceil(float64(items) / float64(max(1, batch)))
		if !st.Once {
			n *= float64(max(1, l.s.Files.Count))
		}
		sum += n
	}
	return sum
}

// policies warns about settings such as clear and restart_every that have no effect in any file.
func (l *linter) policies() {
	s := l.s
	files := strconv.Itoa(s.Files.Count)
	if n := l.passes(); s.Clear.Every > 0 && float64(s.Clear.Every) > n {
		l.warn("clear-never", "clear.every",
			fmt.Sprintf("at most %.0f, the passes of the whole run", n),
			strconv.Itoa(s.Clear.Every),
			"the cache is never emptied by it")
	}
	if _, said := s.places["clear.every"]; said && s.Clear.Every == 0 {
		l.warn("clear-never", "clear.every", "1 or more passes", "0", "0 is never: leave it out")
	}
	cleanups := len(s.Final)
	for _, st := range s.Stages {
		cleanups += len(st.Cleanups)
	}
	if s.Clear.Cleanups && cleanups == 0 {
		l.warn("clear-never", "clear.cleanups", "cleanups at which to empty the cache", "none",
			"the cache is never emptied by it")
	}
	if _, said := s.places["restart_every"]; said {
		switch {
		case s.RestartEvery == 0:
			l.warn("restart-never", "restart_every", "1 or more files", "0",
				"0 is never: leave it out")
		case s.RestartEvery >= s.Files.Count && l.s.counted:
			l.warn("restart-never", "restart_every", "less than the "+files+" files of the run",
				strconv.Itoa(s.RestartEvery), "the process never begins anew")
		}
	}
	if _, conf := s.AllocConf(); s.MemoryFraction == 1 && !strings.Contains(conf,
		"garbage_collection_threshold") {
		l.warn("fraction-one", "memory_fraction", "a share below 1", "1", "1 limits nothing")
	}
	if s.ClearOnStart && s.GPU.Occupied == 0 {
		l.warn("clear-on-start", "clear_on_start", "gpu: {occupied: ...}, which it clears",
			"nothing occupied", "it does nothing")
	}
}

// models finds models that no stage uses, and cleanups that free a resident model.
func (l *linter) models() {
	s := l.s
	for i, m := range s.Models {
		path := fmt.Sprintf("models.%d", i)
		used := slices.ContainsFunc(s.Stages, func(st Stage) bool {
			return slices.Contains(st.Models, m.ID)
		})
		if !used && !m.Resident {
			l.warn("unused-model", path, "a stage that runs it", strconv.Quote(m.ID),
				"it is never loaded")
		}
		if !m.Resident {
			continue
		}
		for j, st := range s.Stages {
			l.residents(fmt.Sprintf("stages.%d", j), m.ID, st.Cleanups)
		}
		l.residents("final", m.ID, s.Final)
	}
}

// residents adds a mistake for each cleanup that frees the resident model with this id. path is the
// path of the stage, or "final".
func (l *linter) residents(path, id string, cleanups []Cleanup) {
	for _, c := range cleanups {
		if slices.Contains(c.Frees, id) {
			l.fail("resident-freed", path+".cleanups."+c.Name, "a model that is not resident",
				strconv.Quote(id),
				"resident: true is for a model that is never freed: leave out one of the two")
		}
	}
}

func (l *linter) faults() {
	for i, f := range l.s.Faults {
		if f.Graph != "" && !slices.ContainsFunc(l.s.Stages, func(st Stage) bool {
			return slices.Contains(st.Models, f.Graph)
		}) {
			l.warn("fault-never", fmt.Sprintf("faults.%d", i), "a model that a stage runs",
				strconv.Quote(f.Graph), "it has no passes")
			continue
		}
		if f.Keep != "" && !l.s.frees(f.Keep) {
			l.warn("fault-never", fmt.Sprintf("faults.%d", i), "what is freed in a file",
				strconv.Quote(f.Keep), "it stays anyway: the fault does nothing")
			continue
		}
		first := max(f.Crash, f.FromFile)
		if l.s.counted && first > l.s.Files.Count {
			l.warn("fault-never", fmt.Sprintf("faults.%d", i), fmt.Sprintf("a file up to %d",
				l.s.Files.Count), strconv.Itoa(first), "it never happens")
		}
	}
}

// environment checks the environment variables that PyTorch reads.
func (l *linter) environment() {
	env := l.s.Env
	winner, _ := l.s.AllocConf()
	for _, name := range sortedKeys(env) {
		switch {
		case name == winner:
			l.conf(name, env[name])
		case slices.Contains(confVariables, name): // see the loop below
		case name == "PYTORCH_NO_CUDA_MEMORY_CACHING":
			l.fail("no-caching", "env:"+name, "the caching allocator", name,
				"PyTorch turns it off where this is set, whatever the value; that is not "+
					"modelled: leave it out")
		case strings.HasPrefix(name, "PYTORCH_"):
			if near := strictyaml.Nearest(name, confVariables); near != "" {
				l.warn("conf-variable", "env:"+name, strconv.Quote(near), strconv.Quote(name),
					"PyTorch does not read it")
			}
		}
	}
	for _, name := range confVariables {
		_, set := env[name]
		switch {
		case !set:
		case winner != "" && name != winner:
			l.warn("two-confs", "env:"+name, "one of "+winner+" and "+name, "both",
				winner+" wins and "+name+" is not read: delete one of the two")
		case name == newVariable:
			l.warn("conf-variable", "env:"+name, cudaVariable, name,
				"PyTorch reads it from 2.9 on; older ones ignore it, and the newer ones still read "+
					cudaVariable)
		case name == hipVariable:
			l.warn("conf-variable", "env:"+name, cudaVariable, name,
				"only PyTorch for AMD cards reads it")
		}
	}
}

// shownValue returns an expression with its value for a message, such as "seconds / 2 = 150", or
// the value alone if it is a plain number.
func shownValue(e Expr, value float64) string {
	if _, constant := e.Constant(); constant {
		return e.String()
	}
	return fmt.Sprintf("%s = %.4g", e, value)
}
