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

// A Trial simulates a scenario over so many files, or up to the first that fails, and says what came of it. It may be called
// by several goroutines.
type Trial func(s *scenario.Scenario, files int) (Result, error)

// Options are what a search goes by.
type Options struct {
	Files int    // of the batch
	Stage string // that fails, or needs most
	// Prepare is done to each scenario that was read anew, before its simulation: the card, a profile's footprints.
	Prepare func(*scenario.Scenario)
}

// Found is what a search came to.
type Found struct {
	// Smallest is the change that costs least and makes the batch fit; where none does, the one with which it at least runs,
	// tightly; nil where there is none at all.
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
	err = inParallel(len(all), func(i int) (err error) {
		tried[i], err = e.along(all[i], nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, line := range tried {
		changes = append(changes, firsts(line)...)
	}
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Answer == Fits }) {
		pairs, err := e.pairs(all, tried)
		if err != nil {
			return nil, err
		}
		changes = append(changes, pairs...)
	}
	found := &Found{Simulations: e.simulations}
	found.choose(changes, now)
	return found, nil
}

// firsts are of the changes of a line the cheapest of each answer.
func firsts(tried []Change) []Change {
	tried = slices.Clone(tried)
	slices.SortFunc(tried, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Answer, b.Answer), cmp.Compare(a.step, b.step)) })
	return slices.CompactFunc(tried, func(a, b Change) bool { return a.Answer == b.Answer })
}

// choose takes the smallest change, and of each other kind the smallest.
func (f *Found) choose(changes []Change, now Result) {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Answer >= now.Answer })
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Answer, b.Answer), cmp.Compare(len(a.Kinds), len(b.Kinds)), compareCost(a, b))
	})
	seen := map[string]bool{}
	for _, c := range changes {
		if kind := c.Kind(); !seen[kind] {
			seen[kind] = true
			f.Others = append(f.Others, c)
		}
	}
	if len(f.Others) > 0 {
		f.Smallest = &f.Others[0]
		f.Others = f.Others[1:]
	}
}

// compareCost orders changes by what they cost: by their dearest kind, then the other one, then the time that the batch
// takes, to a thousandth, then what it needs.
func compareCost(a, b Change) int {
	byKind := slices.CompareFunc(a.dearestFirst(), b.dearestFirst(), func(x, y Kind) int { return cmp.Compare(x, y) })
	speed := func(c Change) float64 {
		return math.Round(1000 * c.Speed / max(a.Speed, b.Speed, math.SmallestNonzeroFloat64))
	}
	return cmp.Or(byKind, cmp.Compare(speed(b), speed(a)), cmp.Compare(a.Need, b.Need))
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

// try makes the edits and simulates what came of it. A change after which the file is refused is no change.
func (e *explorer) try(c Change) (Change, error) {
	src, err := e.doc.with(c.Edits)
	if err != nil {
		return c, err
	}
	s, err := scenario.Read(src, e.doc.name)
	if err != nil {
		return c, fmt.Errorf("after %s: %w", c.Text(), err)
	}
	if e.opts.Prepare != nil {
		e.opts.Prepare(s)
	}
	e.mu.Lock()
	e.simulations++
	e.mu.Unlock()
	if c.Result, err = e.trial(s, e.opts.Files); err != nil {
		return c, fmt.Errorf("after %s: %w", c.Text(), err)
	}
	return c, nil
}

// along tries a line's changes, together with others that are made anyway, until one makes the batch fit. It returns what it
// tried.
func (e *explorer) along(l line, with []Edit) ([]Change, error) {
	var tried []Change
	try := func(step int) (bool, error) {
		c, err := e.try(Change{Kinds: []Kind{l.kind}, Edits: slices.Concat(with, l.at(step)), step: step})
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
	last := l.steps - 1
	if fits, err := try(last); !fits || err != nil {
		return tried, err
	}
	low, high := -1, last // low does not fit, high does
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
	return tried, nil
}

// pairs tries two changes at once: the lines that came furthest alone, each at its dearest step; where that does, the first
// is taken back as far as it goes, then the second.
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
	err := inParallel(len(pairs), func(i int) error {
		a, b := pairs[i][0], pairs[i][1]
		both, err := e.try(Change{Kinds: kinds(a.best, b.best), Edits: slices.Concat(a.best.Edits, b.best.Edits)})
		found[i] = []Change{both}
		if err != nil || both.Answer != Fits {
			return err
		}
		// Each is taken back as far as it goes, the dearer one first.
		fewest := both
		first, second := a.best.Edits, b.best.Edits
		steps, err := e.along(all[b.line], first)
		if err != nil {
			return err
		}
		if c, ok := cheapest(steps); ok {
			fewest, second = c, c.Edits[len(first):]
		}
		if steps, err = e.along(all[a.line], second); err != nil {
			return err
		}
		if c, ok := cheapest(steps); ok {
			fewest, first = c, c.Edits[len(second):]
		}
		fewest.Kinds, fewest.Edits = both.Kinds, slices.Concat(first, second)
		found[i] = []Change{fewest}
		return nil
	})
	return slices.Concat(found...), err
}

// cheapest is of a line's changes the cheapest that fits.
func cheapest(tried []Change) (Change, bool) {
	if all := firsts(tried); len(all) > 0 && all[0].Answer == Fits {
		return all[0], true
	}
	return Change{}, false
}

func kinds(all ...Change) []Kind {
	var out []Kind
	for _, c := range all {
		out = append(out, c.Kinds...)
	}
	return out
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
