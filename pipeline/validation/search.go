package validation

import (
	"cmp"
	"fmt"
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
	e := &explorer{doc: doc, now: now, trial: trial, opts: o}
	all := lines(doc, s, now, o.Stage)
	tried := make([][]Change, len(all))
	if err := inParallel(len(all), func(i int) (err error) {
		tried[i], err = e.along(all[i], nil)
		return err
	}); err != nil {
		return nil, err
	}
	proved, err := e.prove(tried)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(proved, fits) {
		pairs, err := e.pairs(all, tried)
		if err != nil {
			return nil, err
		}
		proved = append(proved, pairs...)
	}
	slices.SortStableFunc(proved, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Answer, b.Answer), compareCost(a, b)) })
	found := &Found{Simulations: e.simulations}
	if len(proved) > 0 {
		found.Smallest, found.Others = &proved[0], proved[1:]
	}
	return found, nil
}

func fits(c Change) bool { return c.Answer == Fits }

// compareCost orders changes by what they cost: one before two, then by their dearest kind, then by the other one, then by
// the speed that is left, to a thousandth, then by what they need.
func compareCost(a, b Change) int {
	byKind := slices.CompareFunc(a.dearestFirst(), b.dearestFirst(), func(x, y Kind) int { return cmp.Compare(x, y) })
	speed := func(c Change) float64 {
		return math.Round(1000 * c.Speed / max(a.Speed, b.Speed, math.SmallestNonzeroFloat64))
	}
	return cmp.Or(cmp.Compare(len(a.Kinds), len(b.Kinds)), byKind, cmp.Compare(speed(b), speed(a)), cmp.Compare(a.Need, b.Need))
}

// An explorer tries changes.
type explorer struct {
	doc   *document
	now   Result
	trial Trial
	opts  Options

	mu          sync.Mutex
	simulations int
}

// try makes the edits and simulates what came of it: over the sample, or over all files. A result of several parts of the
// sample is the worst of each.
func (e *explorer) try(c Change, sample bool) (Change, error) {
	failed := func(err error) (Change, error) { return c, fmt.Errorf("after %s: %w", c.Text(), err) }
	src, err := e.doc.with(c.Edits)
	if err != nil {
		return failed(err)
	}
	s, err := scenario.Read(src, e.doc.name)
	if err != nil { // the linter refuses it: no change
		c.Result = Result{Answer: DoesNotFit, FirstFailed: 1}
		return c, nil
	}
	if e.opts.Prepare != nil {
		e.opts.Prepare(s)
	}
	parts := []Files{{1, e.opts.Files}}
	if sample && len(e.opts.Sample) > 0 {
		parts = e.opts.Sample
	}
	c.Result = Result{}
	for _, part := range parts {
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

// along tries a line's changes on the sample, together with others that are made anyway, until one makes the batch fit. It
// returns what it tried, the cheapest first.
func (e *explorer) along(l line, with []Edit) ([]Change, error) {
	var tried []Change
	try := func(step int) (bool, error) {
		c, err := e.try(Change{Kinds: []Kind{l.kind}, Edits: slices.Concat(with, l.at(step)), step: step}, true)
		tried = append(tried, c)
		return c.Answer == Fits, err
	}
	if !l.graded {
		for step := range l.steps {
			if fits, err := try(step); fits || err != nil {
				return tried, err
			}
		}
		return tried, nil
	}
	// Where the dearest step does not do, none before it will.
	low, high := -1, l.steps-1 // low does not fit, high does
	if fits, err := try(high); !fits || err != nil {
		return tried, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		fits, err := try(middle)
		if err != nil {
			return tried, err
		}
		if fits {
			high = middle
		} else {
			low = middle
		}
	}
	slices.SortFunc(tried, func(a, b Change) int { return cmp.Compare(a.step, b.step) })
	return tried, nil
}

// prove simulates changes over all files: of each kind the cheapest that fits, by the sample, then the next one, until one
// does. Where none of a kind fits, the one with which the batch at least runs is proved, if its kind is cheaper than that of
// all that fit.
func (e *explorer) prove(tried [][]Change) ([]Change, error) {
	var byKind [Code + 1][][]Change
	for _, line := range tried {
		if len(line) > 0 {
			kind := line[0].Kinds[0]
			byKind[kind] = append(byKind[kind], line)
		}
	}
	proved := make([][]Change, len(byKind))
	if err := inParallel(len(byKind), func(k int) (err error) {
		proved[k], err = e.proveFirst(byKind[k], fits)
		return err
	}); err != nil {
		return nil, err
	}
	for k := range byKind {
		if len(proved[k]) > 0 {
			break
		}
		var err error
		if proved[k], err = e.proveFirst(byKind[k], e.runs); err != nil {
			return nil, err
		}
	}
	return slices.Concat(proved...), nil
}

// runs says that a change does not make the batch fit, and betters it.
func (e *explorer) runs(c Change) bool { return !fits(c) && c.Answer < e.now.Answer }

// proveFirst proves the cheapest of those changes of lines that are wanted, and then the next one, until one is as good over
// all files as over the sample.
func (e *explorer) proveFirst(tried [][]Change, wanted func(Change) bool) ([]Change, error) {
	lines := make([][]Change, len(tried))
	for i, line := range tried {
		lines[i] = slices.DeleteFunc(slices.Clone(line), func(c Change) bool { return !wanted(c) })
	}
	const most = 4 // what none of them proves is not looked for further
	for range most {
		lines = slices.DeleteFunc(lines, func(line []Change) bool { return len(line) == 0 })
		if len(lines) == 0 {
			break
		}
		slices.SortStableFunc(lines, func(a, b []Change) int {
			return cmp.Or(cmp.Compare(a[0].Answer, b[0].Answer), compareCost(a[0], b[0]))
		})
		whole, err := e.proof(lines[0][0])
		if err != nil {
			return nil, err
		}
		if wanted(whole) {
			return []Change{whole}, nil
		}
		lines[0] = lines[0][1:]
	}
	return nil, nil
}

// proof is a change simulated over all files.
func (e *explorer) proof(c Change) (Change, error) {
	if c.Files == e.opts.Files {
		return c, nil
	}
	return e.try(c, false)
}

// pairs tries two changes at once: the lines that came furthest alone, each at its best step; where that does, both are taken
// back as far as they go. The cheapest pair that stands over all files is returned.
func (e *explorer) pairs(all []line, tried [][]Change) ([]Change, error) {
	type half struct {
		line int
		best Change
	}
	var halves []half
	for i, changes := range tried {
		if len(changes) == 0 {
			continue
		}
		best := slices.MinFunc(changes, func(a, b Change) int { return compareProgress(a.Result, b.Result) })
		if compareProgress(best.Result, e.now) < 0 {
			halves = append(halves, half{i, best})
		}
	}
	slices.SortStableFunc(halves, func(a, b half) int { return compareProgress(a.best.Result, b.best.Result) })
	var pairs [][2]half
	for j := range halves {
		for i := range j {
			if !overlap(halves[i].best.Edits, halves[j].best.Edits) {
				pair := []half{halves[i], halves[j]}
				slices.SortStableFunc(pair, func(a, b half) int { return slices.Compare(a.best.Kinds, b.best.Kinds) })
				pairs = append(pairs, [2]half(pair))
			}
		}
	}
	pairs = pairs[:min(len(pairs), maxPairs)]
	found := make([][]Change, len(pairs))
	if err := inParallel(len(pairs), func(i int) error {
		a, b := pairs[i][0], pairs[i][1]
		both, err := e.try(Change{Kinds: slices.Concat(a.best.Kinds, b.best.Kinds), Edits: slices.Concat(a.best.Edits, b.best.Edits)}, true)
		found[i] = []Change{both}
		if err != nil || !fits(both) {
			return err
		}
		// Each is taken back as far as it goes, the dearer one first.
		first, second := a.best.Edits, b.best.Edits
		steps, err := e.along(all[b.line], first)
		if err != nil {
			return err
		}
		if k := slices.IndexFunc(steps, fits); k >= 0 {
			second = steps[k].Edits[len(first):]
		}
		if steps, err = e.along(all[a.line], second); err != nil {
			return err
		}
		if k := slices.IndexFunc(steps, fits); k >= 0 {
			both.Result, first = steps[k].Result, steps[k].Edits[len(second):]
		}
		both.Edits = slices.Concat(first, second)
		found[i] = []Change{both}
		return nil
	}); err != nil {
		return nil, err
	}
	proved, err := e.proveFirst(found, fits)
	if err == nil && len(proved) == 0 {
		proved, err = e.proveFirst(found, e.runs)
	}
	return proved, err
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
