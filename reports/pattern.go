package reports

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/reports/sink"
)

// A pattern is the memory of a typical file: one level per checkpoint name.
type pattern struct {
	lane     parser.Lane
	lanes    int // lanes in the log; the pattern is of the one with the highest peak
	quantity parser.Quantity
	files    int   // files with a checkpoint in the lane
	partial  bool  // the timeline has not kept all checkpoints
	scale    int64 // bytes of a full bar
	ofTotal  bool  // scale is the device's total; else it is the highest checkpoint
	steps    []step
	rare     int // checkpoints that fewer than half of the files have, and that are no steps
}

// A step is one checkpoint of the pattern.
type step struct {
	name    string
	level   int64         // median over files, bytes
	freed   string        // what a cleanup gave back, on its After; else ""
	verdict check.Verdict // on the cleanup's recovery; "" where it was not judged
}

// makePattern reads the pattern out of a timeline. It has no steps where the log has no readings.
func makePattern(tl *parser.Timeline, rep *check.Report) pattern {
	p := pattern{}
	p.lane, p.lanes = busiestLane(tl)
	p.quantity = mainQuantity(tl, p.lane)

	levels := map[string][]int64{}
	var order, tail []string
	add := func(into *[]string, c *parser.Checkpoint) {
		size, ok := c.Get(p.quantity)
		if !ok || c.Lane != p.lane {
			return
		}
		if _, known := levels[c.Name]; !known && into != nil {
			*into = append(*into, c.Name)
		}
		levels[c.Name] = append(levels[c.Name], size.Bytes)
	}
	for i := range tl.Outside {
		into := &order
		if len(tl.Files) > 0 && tl.Outside[i].Process >= tl.Files[0].Process && tl.Outside[i].Pos.Line > tl.Files[0].Pos.Line {
			into = &tail
		}
		for k := range tl.Outside[i].Checkpoints {
			add(into, &tl.Outside[i].Checkpoints[k])
		}
	}
	// The file with the most checkpoints gives the order; names that only others have follow the name they came after.
	byLength := slices.Clone(tl.LastAttempts())
	slices.SortStableFunc(byLength, func(a, b *parser.File) int { return len(b.Checkpoints) - len(a.Checkpoints) })
	presence := newPresence(append(slices.Clone(order), tail...))
	for _, f := range byLength {
		order = mergeNames(order, f, p, levels)
		has := false
		for i := range f.Checkpoints {
			add(nil, &f.Checkpoints[i])
			if f.Checkpoints[i].Lane == p.lane {
				presence.add(f, f.Checkpoints[i].Name)
				has = true
			}
		}
		if has {
			p.files++
		}
	}
	kept := 0
	for f := range tl.InOrder() {
		kept += len(f.Checkpoints)
	}
	p.partial = kept < tl.Checkpoints
	cleanups := p.cleanups(rep)
	var top int64
	for _, name := range append(order, tail...) {
		top = max(top, slices.Max(levels[name]))
		if presence.rare(name, p.files) {
			p.rare++
			continue
		}
		s := step{name: sink.Name(name), level: median(levels[name])}
		if c := cleanups[name]; c != nil {
			s.freed, s.verdict = c.text(), c.verdict
		}
		p.steps = append(p.steps, s)
	}
	p.scale = top
	if total := laneTotal(tl, p.lane); total > 0 && top*10 > total {
		p.scale, p.ofTotal = total, true
	}
	return p
}

// A presence counts the files that have a checkpoint of a name.
type presence struct {
	files  map[string]int
	last   map[string]*parser.File
	most   int
	beside map[string]bool // names that stand outside of files: of them the files say nothing
}

func newPresence(outside []string) *presence {
	p := &presence{files: map[string]int{}, last: map[string]*parser.File{}, beside: map[string]bool{}}
	for _, name := range outside {
		p.beside[name] = true
	}
	return p
}

func (p *presence) add(f *parser.File, name string) {
	if p.last[name] != f {
		p.last[name] = f
		p.files[name]++
		p.most = max(p.most, p.files[name])
	}
}

// rare says that fewer than half of the files have the checkpoint: a typical file has not, such as "After Transcription (failed)".
// Where that holds of every name, the log numbers its checkpoints, and none is rarer than the others.
func (p *presence) rare(name string, files int) bool {
	return !p.beside[name] && p.most*2 >= files && p.files[name]*2 < files
}

// searched is how many names are kept in the order of the files. A log with more of them numbers its checkpoints, and
// looking each up would take forever.
const searched = 1000

// mergeNames adds the names that the file has and order lacks, each after the name it follows in the file.
func mergeNames(order []string, f *parser.File, p pattern, known map[string][]int64) []string {
	at := -1
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if _, ok := c.Get(p.quantity); !ok || c.Lane != p.lane {
			continue
		}
		if _, ok := known[c.Name]; ok {
			if j := slices.Index(order[:min(len(order), searched)], c.Name); j >= 0 {
				at = j
			}
			continue
		}
		if at < 0 || len(order) > searched {
			at = len(order) - 1
		}
		at++
		order = slices.Insert(order, at, c.Name)
		known[c.Name] = nil
	}
	return order
}

// cleanupStats are one cleanup over the files.
type cleanupStats struct {
	freed   []int64       // bytes
	failed  int           // files in which it failed
	shares  []float64     // of those files where something was held and the share was judged
	verdict check.Verdict // fail if it failed anywhere, else undecided, else pass; "" where it was not judged
}

// cleanups are the judge's recoveries in the lane by the name of their After.
func (p pattern) cleanups(rep *check.Report) map[string]*cleanupStats {
	out := map[string]*cleanupStats{}
	for i := range rep.Recoveries {
		r := &rep.Recoveries[i]
		if r.Stage || r.Lane != p.lane {
			continue
		}
		after := &r.File.Checkpoints[r.After]
		_, hasTop := r.File.Checkpoints[r.Before].Get(p.quantity)
		if _, hasBottom := after.Get(p.quantity); !hasTop || !hasBottom {
			continue
		}
		c := out[after.Name]
		if c == nil {
			c = &cleanupStats{}
			out[after.Name] = c
		}
		c.freed = append(c.freed, r.Freed)
		if r.Verdict == check.Skipped {
			continue
		}
		if !r.Nothing {
			c.shares = append(c.shares, min(1, r.Share)) // more than 1 where it freed what was there before the stage, too
		}
		if r.Verdict == check.Fail {
			c.failed++
		}
		rank := []check.Verdict{"", check.Pass, check.Undecided, check.Fail}
		if slices.Index(rank, r.Verdict) > slices.Index(rank, c.verdict) {
			c.verdict = r.Verdict
		}
	}
	return out
}

// text is the median of what was freed: "97.6 % freed", or "51.2 MiB freed" where no share was judged. A median hides
// the few files in which the cleanup failed, so these are counted.
func (c *cleanupStats) text() string {
	text := parser.FormatBytes(median(c.freed)) + " freed"
	switch {
	case len(c.shares) > 0:
		text = fmt.Sprintf("%.1f %% freed", 100*median(c.shares))
	case median(c.freed) == 0:
		text = "nothing freed"
	}
	if c.failed > 0 && c.failed < len(c.freed) {
		text += fmt.Sprintf(", not in %s", plural(c.failed, "file"))
	}
	return text
}

// median is the middle value, or the lower of the two in the middle: a level that was read, not made up.
func median[T int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// busiestLane is the lane with the largest reading, and how many lanes the log has.
func busiestLane(tl *parser.Timeline) (parser.Lane, int) {
	top := map[parser.Lane]int64{}
	var lanes []parser.Lane
	for _, c := range tl.All() {
		if _, known := top[c.Lane]; !known {
			lanes = append(lanes, c.Lane)
		}
		top[c.Lane] = max(top[c.Lane], c.Bytes(parser.Allocated), c.Bytes(parser.Reserved), c.Bytes(parser.Used))
	}
	if len(lanes) == 0 {
		return parser.Lane{}, 0
	}
	return slices.MaxFunc(lanes, func(a, b parser.Lane) int {
		return cmp.Compare(top[a], top[b])
	}), len(lanes)
}

// lanesOf are the lanes that the log's checkpoints are of.
func lanesOf(tl *parser.Timeline) []parser.Lane {
	var lanes []parser.Lane
	for _, c := range tl.All() {
		if !slices.Contains(lanes, c.Lane) {
			lanes = append(lanes, c.Lane)
		}
	}
	return lanes
}

// mainQuantity is the quantity that a lane is shown by: the first of allocated, device used and reserved that it has.
func mainQuantity(tl *parser.Timeline, lane parser.Lane) parser.Quantity {
	for _, q := range []parser.Quantity{parser.Allocated, parser.Used} {
		for _, c := range tl.All() {
			if _, ok := c.Get(q); ok && c.Lane == lane {
				return q
			}
		}
	}
	return parser.Reserved
}

// laneTotal is the size of the lane's device, 0 where the log has none.
func laneTotal(tl *parser.Timeline, lane parser.Lane) int64 {
	var total int64
	for _, c := range tl.All() {
		if c.Lane == lane {
			total = max(total, c.Bytes(parser.Total))
		}
	}
	for i := range tl.Samples {
		if tl.Samples[i].Lane.Device == lane.Device {
			total = max(total, tl.Samples[i].Bytes(parser.Total))
		}
	}
	return total
}

// title says what the pattern shows and what a full bar is.
func (p pattern) title() string {
	of := plural(p.files, "file")
	if p.partial {
		of = "the first " + of
	}
	s := fmt.Sprintf("Memory pattern of a file: %s, median over %s", quantityName(p.quantity), of)
	if p.lanes > 1 {
		s += fmt.Sprintf(", %s (the busiest of %d)", laneName(p.lane), p.lanes)
	}
	if p.ofTotal {
		s += "; a full bar is the device, " + parser.FormatBytes(p.scale)
	} else {
		s += "; a full bar is the highest checkpoint, " + parser.FormatBytes(p.scale)
	}
	if p.rare > 0 {
		s += fmt.Sprintf("; left out: %s that fewer than half of the files have", plural(p.rare, "checkpoint"))
	}
	return s
}

// quantityName is a quantity in words.
func quantityName(q parser.Quantity) string {
	if q == parser.Used {
		return "device used"
	}
	return q.String()
}

func laneName(l parser.Lane) string {
	return l.Name(l.Rank != 0)
}

// filled is how many cells of a bar the level fills; anything above nothing fills at least one.
func (p pattern) filled(level int64, cells int) int {
	if level <= 0 || p.scale <= 0 {
		return 0
	}
	return min(cells, max(1, int(float64(level)/float64(p.scale)*float64(cells)+0.5)))
}
