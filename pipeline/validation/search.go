package validation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"vramsoak/pipeline/scenario"
)

// A Trial simulates the given files of a scenario, up to the first that fails, and returns the
// outcome. Several goroutines may call it.
type Trial func(s *scenario.Scenario, f Files) (Result, error)

// Files are consecutive files of the batch.
type Files struct{ First, Count int } // from 1

// searchOptions guide a search.
type searchOptions struct {
	Files int    // of the batch
	Stage string // the stage that fails, or needs most memory
	// Sample holds the files on which the search tries a change before it simulates the change over
	// all files; see assessment.Sample. If it is empty, each change is simulated over all files at
	// once.
	Sample []Files
	// Prepare is called for each scenario that the search reads from an edited file. It sets the
	// values that are not in the file: the card, and the footprints of a profile.
	Prepare func(*scenario.Scenario)
	// Fixed are the names of the parameters that Prepare sets.
	Fixed []string
}

// found is the outcome of a search.
type found struct {
	// Smallest is the cheapest change that makes the batch fit. If no change does, Smallest is the
	// change with the best answer that is better than the answer without a change, or nil. Smallest
	// and Others were simulated over all files.
	Smallest *Change
	// Others are the cheapest changes of other kinds, by cost.
	Others []Change
	// Refused has an error for each value that the search could not change, because the file cannot
	// be edited there or is invalid after the edit. If several changes of a value were refused,
	// Refused has the error of one of them.
	Refused []error
	// Simulations is the number of simulations that the search needed.
	Simulations int
}

// maxPairs is the largest number of pairs of changes that help alone, and of those that help only
// beside another, that are tried if no single change is enough.
const maxPairs = 15

// search searches for the smallest change of a scenario file with which its batch fits. src is the
// file's text, and now is the result without a change. For each kind of change, search tries the
// cheapest candidates first. If no single change is enough, search tries pairs of changes.
func search(src []byte, name string, now Result, trial Trial, o searchOptions) (*found, error) {
	doc, err := newDocument(src, name)
	if err != nil {
		return nil, err
	}
	s, err := scenario.Read(src, name)
	if err != nil {
		return nil, err
	}
	if o.Prepare != nil {
		o.Prepare(s)
	}
	e := &explorer{doc: doc, now: now, trial: trial, opts: o, refused: map[string]error{}}
	var groups []*attempts
	for _, c := range allCandidates(doc, s, now, o.Stage, o.Fixed) {
		groups = append(groups, &attempts{candidates: c, sample: o.Sample})
	}
	if err := inParallel(len(groups), func(i int) error {
		return e.findCheapest(groups[i], 0)
	}); err != nil {
		return nil, err
	}
	alone := make([]attempts, len(groups)) // before prove adds to them
	for i, c := range groups {
		alone[i] = *c
	}
	proved, err := e.prove(groups)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(proved, fits) {
		pairs, err := e.pairs(alone)
		if err != nil {
			return nil, err
		}
		proved = append(proved, pairs...)
	}
	slices.SortStableFunc(proved, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Answer, b.Answer), compareCost(a, b))
	})
	found := &found{Simulations: e.simulations}
	for _, key := range slices.Sorted(maps.Keys(e.refused)) {
		found.Refused = append(found.Refused, e.refused[key])
	}
	for i := range proved {
		proved[i].Timeless = slices.ContainsFunc(proved[i].Edits, func(e Edit) bool {
			return timeless(s, e)
		})
	}
	if len(proved) > 0 {
		found.Smallest, found.Others = &proved[0], proved[1:]
	}
	return found, nil
}

// timeless reports whether an edit changes the batch of a stage, or of its passes, while the
// stage's seconds in the file do not depend on the batch. The simulation cannot show what such an
// edit costs in time.
func timeless(s *scenario.Scenario, e Edit) bool {
	if len(e.path) > 1 && e.path[0] == "parameters" {
		return slices.ContainsFunc(s.Stages, func(st scenario.Stage) bool {
			return st.Batch.Uses(fmt.Sprint(e.path[1])) && !st.Seconds.Uses("batch")
		})
	}
	if len(e.path) != 3 || e.path[0] != "stages" || e.path[2] != "batch" && e.path[2] != "accumulate" {
		return false
	}
	stage, isIndex := e.path[1].(int)
	return isIndex && stage < len(s.Stages) && !s.Stages[stage].Seconds.Uses("batch")
}

func fits(c Change) bool { return c.Answer == Fits }

// compareCost orders changes by cost: changes of one kind before pairs, then by the most expensive
// kind, then by the other kind, then by the speed of the simulated pipeline (rounded to a
// thousandth of the faster one), then by the memory needed.
func compareCost(a, b Change) int {
	byKind := slices.CompareFunc(a.costliestFirst(), b.costliestFirst(), func(x, y Kind) int {
		return cmp.Compare(x, y)
	})
	speed := func(c Change) float64 {
		return math.Round(1000 * c.Speed / max(a.Speed, b.Speed, math.SmallestNonzeroFloat64))
	}
	return cmp.Or(cmp.Compare(len(a.kinds), len(b.kinds)), byKind, cmp.Compare(speed(b), speed(a)),
		cmp.Compare(a.Need, b.Need))
}

// An explorer tries changes in simulations. Several goroutines may use it.
type explorer struct {
	doc   *document
	now   Result
	trial Trial
	opts  searchOptions

	mu          sync.Mutex
	simulations int
	refused     map[string]error // by the keys of the edits
}

// try makes a change's edits and simulates the result over the sample, or over all files if the
// sample is empty. It returns the change with the worst result of the sample's parts. If the file
// cannot be edited in this way, the result is DoesNotFit.
func (e *explorer) try(c Change, sample []Files) (Change, error) {
	failed := func(err error) (Change, error) {
		return c, fmt.Errorf("after %s: %w", c.Text(), err)
	}
	src, edits, err := e.doc.with(c.Edits)
	var s *scenario.Scenario
	if err == nil {
		c.Edits = edits
		s, err = scenario.Read(src, e.doc.name)
	}
	if err != nil {
		e.refuse(c, err)
		c.Result = Result{Answer: DoesNotFit, FirstFailed: 1}
		return c, nil
	}
	if e.opts.Prepare != nil {
		e.opts.Prepare(s)
	}
	if len(sample) == 0 {
		sample = []Files{{1, e.opts.Files}}
	}
	c.Result = Result{}
	for _, part := range sample {
		e.mu.Lock()
		e.simulations++
		e.mu.Unlock()
		r, err := e.trial(s, part)
		if err != nil {
			return failed(err)
		}
		if c.Files == 0 || r.Answer > c.Answer || r.Answer == c.Answer && r.Need > c.Need {
			c.Result = r
		}
		if c.Answer == DoesNotFit {
			break
		}
	}
	return c, nil
}

// refuse records why a change cannot be made.
func (e *explorer) refuse(c Change, err error) {
	var keys []string
	for _, edit := range c.Edits {
		keys = append(keys, edit.Key)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err = fmt.Errorf("not tried: %s: %w", c.Text(), err)
	// If several changes to the same value are refused, the error that sorts first is kept. So the
	// result does not depend on the order in which goroutines run.
	if key := strings.Join(keys, " "); e.refused[key] == nil ||
		err.Error() < e.refused[key].Error() {
		e.refused[key] = err
	}
}

// attempts are candidates, with the results of the candidates that the search has tried.
type attempts struct {
	candidates
	with   []Edit // edits made together with those of each candidate
	sample []Files
	tried  []Change // the candidates tried on the sample, the cheapest first
}

// worthProving returns the tried candidates that may be the best of their kind. Of graded ones this
// is the cheapest of those with the best answer.
func (a *attempts) worthProving() []Change {
	if !a.graded || len(a.tried) == 0 {
		return a.tried
	}
	return []Change{slices.MinFunc(a.tried, func(x, y Change) int {
		return cmp.Compare(x.Answer, y.Answer)
	})}
}

// furthest returns the tried candidate with the best result.
func (a *attempts) furthest() Change {
	return slices.MinFunc(a.tried, func(x, y Change) int {
		return compareProgress(x.Result, y.Result)
	})
}

// findCheapest finds the cheapest candidate at index from or later that fits on the sample. If no
// graded candidate fits because a check fails, it finds the cheapest for which memory is enough. If
// all are tight, it tries only the last one, which needs least. It puts the results of all
// candidates that it tried into group.tried.
func (e *explorer) findCheapest(group *attempts, from int) error {
	group.tried = nil
	try := func(step int) (Answer, error) {
		change := newChange(slices.Concat(group.with, group.edits(step)), group.kind)
		change.step = step
		c, err := e.try(change, group.sample)
		group.tried = append(group.tried, c)
		return c.Answer, err
	}
	if from >= group.steps {
		return nil
	}
	if !group.graded {
		for step := from; step < group.steps; step++ {
			if answer, err := try(step); answer == Fits || err != nil {
				return err
			}
		}
		return nil
	}
	// No graded candidate is better than the last. Candidate high is as good, candidate low is not.
	low, high := from-1, group.steps-1
	best, err := try(high)
	if best >= e.now.Answer || best == Tight || err != nil {
		return err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		answer, err := try(middle)
		if err != nil {
			return err
		}
		if answer <= best {
			high = middle
		} else {
			low = middle
		}
	}
	slices.SortFunc(group.tried, func(a, b Change) int { return cmp.Compare(a.step, b.step) })
	return nil
}

// prove simulates changes that improved the result on the sample over all files. For each kind it
// begins with the change that has the best answer and the lowest cost, and ends with the first that
// fits. If no change of a kind fits, prove returns the change of that kind with the best answer,
// but only if the kind is cheaper than the kinds of all changes that fit.
func (e *explorer) prove(groups []*attempts) ([]Change, error) {
	var byKind [Code + 1][]*attempts
	for _, c := range groups {
		byKind[c.kind] = append(byKind[c.kind], c)
	}
	proved := make([][]Change, len(byKind))
	run := make([][]Change, len(byKind)) // changes that do not fit, but improve the answer
	if err := inParallel(len(byKind), func(k int) (err error) {
		proved[k], run[k], err = e.proveFirst(byKind[k])
		return err
	}); err != nil {
		return nil, err
	}
	for k := range byKind {
		if len(proved[k]) > 0 {
			break
		}
		proved[k] = run[k]
	}
	return slices.Concat(proved...), nil
}

// proveFirst simulates over all files the change with the best answer on its sample (the cheapest
// one if several have this answer), then the next one, until a change fits. It returns this change
// as proved. If no change fits, it returns as run the change with the best answer, if that is
// better than the answer without a change.
func (e *explorer) proveFirst(groups []*attempts) (proved, run []Change, err error) {
	const most = 8 // at most so many changes are simulated over all files
	for range most {
		best, at := Change{}, (*attempts)(nil)
		for _, c := range groups {
			for _, t := range c.worthProving() {
				if t.Answer < e.now.Answer && (at == nil ||
					cmp.Or(cmp.Compare(t.Answer, best.Answer), compareCost(t, best)) < 0) {
					best, at = t, c
				}
				if t.Answer == Fits {
					break // the later candidates cost more
				}
			}
		}
		if at == nil || best.Answer > Fits && len(run) > 0 {
			break
		}
		whole, err := e.proof(best)
		if err != nil {
			return nil, nil, err
		}
		if fits(whole) {
			return []Change{whole}, nil, nil
		}
		if whole.Answer < e.now.Answer && (len(run) == 0 || whole.Answer < run[0].Answer) {
			run = []Change{whole}
		}
		// The change fits on the sample, but not over all files. Further candidates of this group are
		// simulated over all files.
		if at.sample = nil; at.edits == nil {
			at.tried = nil // this is a pair, which has no further candidates
		} else if err := e.findCheapest(at, best.step+1); err != nil {
			return nil, nil, err
		}
	}
	return nil, run, nil
}

// until returns the files from the first to the one that failed, and some more: a quarter of that
// number, but at least three.
func until(failed, files int) []Files { return []Files{{1, min(files, failed+max(3, failed/4))}} }

// proof returns a change with its result over all files. It simulates the change, unless c already
// has such a result.
func (e *explorer) proof(c Change) (Change, error) {
	if c.Files == e.opts.Files {
		return c, nil
	}
	return e.try(c, nil)
}

// A half is one change of a pair: the candidates of a group, and the best of those that were tried.
type half struct {
	attempts
	best Change
}

// pairs tries two changes at once. alone has the single changes that were tried. pairs combines the
// best changes of two groups that help, and tries the groups with the best results first. Then it
// combines the very best change with groups that help only beside it. If a pair fits, pairs
// replaces each of its changes by the cheapest candidate with which the pair still fits. It returns
// the cheapest pair that fits over all files or, if no pair fits, the pair with the best answer.
func (e *explorer) pairs(alone []attempts) ([]Change, error) {
	var halves, rest []half
	for _, c := range alone {
		if len(c.tried) == 0 {
			continue
		}
		if h := (half{c, c.furthest()}); compareProgress(h.best.Result, e.now) < 0 {
			halves = append(halves, h)
		} else {
			rest = append(rest, h)
		}
	}
	slices.SortStableFunc(halves, func(a, b half) int {
		return compareProgress(a.best.Result, b.best.Result)
	})
	var pairs [][2]half
	for j := range halves {
		for i := range j {
			if !overlap(halves[i].best.Edits, halves[j].best.Edits) {
				pairs = append(pairs, pairOf(halves[i], halves[j]))
			}
		}
	}
	pairs = pairs[:min(len(pairs), maxPairs)]
	if len(halves) > 0 {
		more, err := e.beside(&halves[0], rest)
		if err != nil {
			return nil, err
		}
		for _, h := range more {
			pairs = append(pairs, pairOf(halves[0], h))
		}
	}
	found := make([]Change, len(pairs))
	if err := inParallel(len(pairs), func(i int) error {
		a, b := pairs[i][0], pairs[i][1]
		both, err := e.try(newChange(slices.Concat(a.best.Edits, b.best.Edits),
			slices.Concat(a.best.kinds, b.best.kinds)...), a.sample)
		found[i] = both
		if err != nil || !fits(both) {
			return err
		}
		// Replace each change by the cheapest candidate with which the pair still fits. The change
		// of the more expensive kind is replaced first.
		first, second := a.best.Edits, b.best.Edits
		b.with = first
		if err := e.findCheapest(&b.attempts, 0); err != nil {
			return err
		}
		if k := slices.IndexFunc(b.tried, fits); k >= 0 {
			second = b.tried[k].Edits[len(first):]
		}
		a.with = second
		if err := e.findCheapest(&a.attempts, 0); err != nil {
			return err
		}
		if k := slices.IndexFunc(a.tried, fits); k >= 0 {
			both.Result, first = a.tried[k].Result, a.tried[k].Edits[len(second):]
		}
		both.Edits = slices.Concat(first, second)
		found[i] = both
		return nil
	}); err != nil {
		return nil, err
	}
	groups := make([]*attempts, len(found)) // a group for each pair
	for i, c := range found {
		groups[i] = &attempts{tried: []Change{c}}
	}
	proved, run, err := e.proveFirst(groups)
	return slices.Concat(proved, run), err
}

// pairOf returns two halves, the cheaper kind first.
func pairOf(a, b half) [2]half {
	pair := []half{a, b}
	slices.SortStableFunc(pair, func(a, b half) int {
		return slices.Compare(a.best.kinds, b.best.kinds)
	})
	return [2]half(pair)
}

// beside returns the groups in rest that help beside the change with. Alone they do not: if memory
// runs out in two places, a change that mends only the second one shows nothing. The second place
// may lie behind the sample, so beside makes the sample longer.
func (e *explorer) beside(with *half, rest []half) ([]half, error) {
	whole, err := e.proof(with.best)
	if err != nil {
		return nil, err
	}
	if whole.FirstFailed > 0 {
		with.sample = until(whole.FirstFailed, e.opts.Files)
	}
	rest = slices.DeleteFunc(rest, func(h half) bool { return overlap(with.best.Edits, h.best.Edits) })
	rest = rest[:min(len(rest), maxPairs)]
	now := with.best.Edits
	if err := inParallel(len(rest), func(i int) error {
		rest[i].with, rest[i].sample = now, with.sample
		return e.findCheapest(&rest[i].attempts, 0)
	}); err != nil {
		return nil, err
	}
	var better []half
	for _, h := range rest {
		if len(h.tried) == 0 {
			continue
		}
		h.best = h.furthest()
		h.best.Edits = h.best.Edits[len(now):]
		if compareProgress(h.best.Result, whole.Result) < 0 {
			better = append(better, h)
		}
	}
	return better, nil
}

// overlap reports whether an edit in a and an edit in b change the same value, or whether one
// changes a part of the value that the other changes.
func overlap(a, b []Edit) bool {
	return slices.ContainsFunc(a, func(x Edit) bool {
		return slices.ContainsFunc(b, func(y Edit) bool {
			return strings.HasPrefix(x.Key+".", y.Key+".") || strings.HasPrefix(y.Key+".",
				x.Key+".")
		})
	})
}

// compareProgress returns a number below 0 if result a is better than b. It compares the answers,
// then the first failures (later is better), then the shares of the card (smaller is better).
func compareProgress(a, b Result) int {
	end := func(r Result) int { return cmp.Or(r.FirstFailed, math.MaxInt) }
	return cmp.Or(cmp.Compare(a.Answer, b.Answer), cmp.Compare(end(b), end(a)),
		cmp.Compare(a.Share, b.Share))
}

// inParallel calls do(0) to do(n-1), as many at once as there are cores. It returns the error with
// the lowest index.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return cmp.Or(errs...)
}
