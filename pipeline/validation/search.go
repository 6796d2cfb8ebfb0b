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

// A Trial simulates files of a scenario, up to the first that fails, and says what came of it. It may be called by several
// goroutines.
type Trial func(s *scenario.Scenario, f Files) (Result, error)

// Files are those of a batch that a trial is of.
type Files struct{ First, Count int } // from 1

// Options are what a search goes by.
type Options struct {
	Files int    // of the batch
	Stage string // that fails, or needs most
	// Sample are the files that a change must stand before it is simulated over all: those up to the one that failed, or those
	// that needed most. Without it, each change is simulated over all.
	Sample []Files
	// Prepare is done to each scenario that was read anew, before its simulation: the card, a profile's footprints.
	Prepare func(*scenario.Scenario)
}

// Found is what a search came to.
type Found struct {
	// Smallest is the change that costs least and makes the batch fit; where none does, the one with which it at least runs,
	// tightly; nil where there is none at all. It was simulated over all files, and so were the others.
	Smallest *Change
	// Others are the smallest changes of other kinds, by cost.
	Others []Change
	// Refused are changes that were not looked at, and why: the file cannot be edited so, or is refused with them. Of the changes of
	// a value one stands for all.
	Refused []error
	// Simulations is how many there were.
	Simulations int
}

// maxPairs bounds the pairs that are tried where no single change does.
const maxPairs = 15

// Search looks for the smallest change of a scenario file with which its batch fits: along every line of changes, each from
// the cheapest to the dearest, and if none of them does, in pairs.
func Search(src []byte, name string, now Result, trial Trial, o Options) (*Found, error) {
	doc, err := newDocument(src, name)
	if err != nil {
		return nil, err
	}
	s, err := scenario.Read(src, name)
	if err != nil {
		return nil, err
	}
	e := &explorer{doc: doc, now: now, trial: trial, opts: o, refused: map[string]error{}}
	var courses []*course
	for _, l := range lines(doc, s, now, o.Stage) {
		courses = append(courses, &course{line: l, sample: o.Sample})
	}
	if err := inParallel(len(courses), func(i int) error { return e.along(courses[i], 0) }); err != nil {
		return nil, err
	}
	alone := make([]course, len(courses)) // as they were before proofs
	for i, c := range courses {
		alone[i] = *c
	}
	proved, err := e.prove(courses)
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
	slices.SortStableFunc(proved, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Answer, b.Answer), compareCost(a, b)) })
	found := &Found{Simulations: e.simulations}
	for _, key := range slices.Sorted(maps.Keys(e.refused)) {
		found.Refused = append(found.Refused, e.refused[key])
	}
	for i := range proved {
		proved[i].Timeless = slices.ContainsFunc(proved[i].Edits, func(e Edit) bool { return timeless(s, e) })
	}
	if len(proved) > 0 {
		found.Smallest, found.Others = &proved[0], proved[1:]
	}
	return found, nil
}

// timeless reports whether an edit is of the batch of a stage whose seconds, in the file, do not
// depend on it.
func timeless(s *scenario.Scenario, e Edit) bool {
	if len(e.path) != 3 || e.path[0] != "stages" || e.path[2] != "batch" {
		return false
	}
	stage, isIndex := e.path[1].(int)
	return isIndex && stage < len(s.Stages) && !s.Stages[stage].Seconds.Uses("batch")
}

func fits(c Change) bool { return c.Answer == Fits }

// compareCost orders changes by what they cost: one before two, then by their dearest kind, then by the other one, then by
// the speed that is left, to a thousandth, then by what they need.
func compareCost(a, b Change) int {
	byKind := slices.CompareFunc(a.dearestFirst(), b.dearestFirst(), func(x, y Kind) int { return cmp.Compare(x, y) })
	speed := func(c Change) float64 {
		return math.Round(1000 * c.Speed / max(a.Speed, b.Speed, math.SmallestNonzeroFloat64))
	}
	return cmp.Or(cmp.Compare(len(a.kinds), len(b.kinds)), byKind, cmp.Compare(speed(b), speed(a)), cmp.Compare(a.Need, b.Need))
}

// An explorer tries changes.
type explorer struct {
	doc   *document
	now   Result
	trial Trial
	opts  Options

	mu          sync.Mutex
	simulations int
	refused     map[string]error // by the keys of the edits
}

// try makes the edits and simulates what came of it over a sample, or over all files where there is none. The result is the
// worst of the sample's parts.
func (e *explorer) try(c Change, sample []Files) (Change, error) {
	failed := func(err error) (Change, error) { return c, fmt.Errorf("after %s: %w", c.Text(), err) }
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

// refuse notes a change that cannot be made.
func (e *explorer) refuse(c Change, err error) {
	var keys []string
	for _, edit := range c.Edits {
		keys = append(keys, edit.Key)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err = fmt.Errorf("not tried: %s: %w", c.Text(), err)
	// Of several the same one each time, whichever came first.
	if key := strings.Join(keys, " "); e.refused[key] == nil || err.Error() < e.refused[key].Error() {
		e.refused[key] = err
	}
}

// A course is a line, and how far along it a search has come.
type course struct {
	line
	with   []Edit // other edits that are made anyway
	sample []Files
	tried  []Change // on the sample, the cheapest first
}

// along tries the changes of a line on its sample, from a step on, until one makes the batch fit.
func (e *explorer) along(l *course, from int) error {
	l.tried = nil
	try := func(step int) (bool, error) {
		change := newChange(slices.Concat(l.with, l.at(step)), l.kind)
		change.step = step
		c, err := e.try(change, l.sample)
		l.tried = append(l.tried, c)
		return c.Answer == Fits, err
	}
	if from >= l.steps {
		return nil
	}
	if !l.graded {
		for step := from; step < l.steps; step++ {
			if fits, err := try(step); fits || err != nil {
				return err
			}
		}
		return nil
	}
	// Where the dearest step does not do, none before it will.
	low, high := from-1, l.steps-1 // low does not fit, high does
	if fits, err := try(high); !fits || err != nil {
		return err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		fits, err := try(middle)
		if err != nil {
			return err
		}
		if fits {
			high = middle
		} else {
			low = middle
		}
	}
	slices.SortFunc(l.tried, func(a, b Change) int { return cmp.Compare(a.step, b.step) })
	return nil
}

// prove simulates changes over all files: of each kind the cheapest that fits, by the sample, then the next one, until one
// does. Where none of a kind fits, the one with which the batch at least runs is proved, if its kind is cheaper than that of
// all that fit.
func (e *explorer) prove(courses []*course) ([]Change, error) {
	var byKind [Code + 1][]*course
	for _, c := range courses {
		byKind[c.kind] = append(byKind[c.kind], c)
	}
	proved := make([][]Change, len(byKind))
	run := make([][]Change, len(byKind)) // proofs that did not fit, and ran
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

// proveFirst proves the cheapest change of courses that fits on its sample, then the next one, until one fits over all files.
// Where none does, run is the best that at least runs.
func (e *explorer) proveFirst(courses []*course) (proved, run []Change, err error) {
	const most = 8 // proofs
	for range most {
		best, at := Change{}, (*course)(nil)
		for _, c := range courses {
			for _, t := range c.tried {
				if t.Answer < e.now.Answer && (at == nil || cmp.Or(cmp.Compare(t.Answer, best.Answer), compareCost(t, best)) < 0) {
					best, at = t, c
				}
				if t.Answer == Fits {
					break // the dearer ones of its line come after it
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
		// The sample does not tell: from here on, all files do.
		if at.sample = nil; at.at == nil {
			at.tried = nil // a pair; there is no next step
		} else if err := e.along(at, best.step+1); err != nil {
			return nil, nil, err
		}
	}
	return nil, run, nil
}

// until are the files up to one that failed, and some more.
func until(failed, files int) []Files { return []Files{{1, min(files, failed+max(3, failed/4))}} }

// proof is a change simulated over all files.
func (e *explorer) proof(c Change) (Change, error) {
	if c.Files == e.opts.Files {
		return c, nil
	}
	return e.try(c, nil)
}

// pairs tries two changes at once: the lines that came furthest alone, each at its best step; where that does, both are taken
// back as far as they go. The cheapest pair that stands over all files is returned.
func (e *explorer) pairs(alone []course) ([]Change, error) {
	type half struct {
		course
		best Change
	}
	var halves []half
	for _, c := range alone {
		if len(c.tried) == 0 {
			continue
		}
		best := slices.MinFunc(c.tried, func(a, b Change) int { return compareProgress(a.Result, b.Result) })
		if compareProgress(best.Result, e.now) < 0 {
			halves = append(halves, half{c, best})
		}
	}
	slices.SortStableFunc(halves, func(a, b half) int { return compareProgress(a.best.Result, b.best.Result) })
	var pairs [][2]half
	for j := range halves {
		for i := range j {
			if !overlap(halves[i].best.Edits, halves[j].best.Edits) {
				pair := []half{halves[i], halves[j]}
				slices.SortStableFunc(pair, func(a, b half) int { return slices.Compare(a.best.kinds, b.best.kinds) })
				pairs = append(pairs, [2]half(pair))
			}
		}
	}
	pairs = pairs[:min(len(pairs), maxPairs)]
	found := make([]Change, len(pairs))
	if err := inParallel(len(pairs), func(i int) error {
		a, b := pairs[i][0], pairs[i][1]
		both, err := e.try(newChange(slices.Concat(a.best.Edits, b.best.Edits), slices.Concat(a.best.kinds, b.best.kinds)...), e.opts.Sample)
		found[i] = both
		if err != nil || !fits(both) {
			return err
		}
		// Each is taken back as far as it goes, the dearer one first.
		first, second := a.best.Edits, b.best.Edits
		b.with = first
		if err := e.along(&b.course, 0); err != nil {
			return err
		}
		if k := slices.IndexFunc(b.tried, fits); k >= 0 {
			second = b.tried[k].Edits[len(first):]
		}
		a.with = second
		if err := e.along(&a.course, 0); err != nil {
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
	courses := make([]*course, len(found)) // of one change each
	for i, c := range found {
		courses[i] = &course{tried: []Change{c}}
	}
	proved, run, err := e.proveFirst(courses)
	return slices.Concat(proved, run), err
}

// overlap says that two changes edit the same value, or one a part of the other's.
func overlap(a, b []Edit) bool {
	return slices.ContainsFunc(a, func(x Edit) bool {
		return slices.ContainsFunc(b, func(y Edit) bool {
			return strings.HasPrefix(x.Key+".", y.Key+".") || strings.HasPrefix(y.Key+".", x.Key+".")
		})
	})
}

// compareProgress is below 0 where a came further than b: a better answer, a later first failure, a lower share.
func compareProgress(a, b Result) int {
	end := func(r Result) int { return cmp.Or(r.FirstFailed, math.MaxInt) }
	return cmp.Or(cmp.Compare(a.Answer, b.Answer), cmp.Compare(end(b), end(a)), cmp.Compare(a.Share, b.Share))
}

// inParallel does n things, as many at once as there are cores, and returns the first error in their order.
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
