package check

import (
	"math"
	"slices"

	"vramsoak/parser"
)

// A column is one quantity over the files of a ledger. Files that have none of it are left out.
type column struct {
	of         parser.Quantity // of levels: the quantity by which they were read
	files      []int32         // places in the timeline
	values     []float64
	resolution float64 // the largest
}

func (c *column) add(ref fileRef, value, resolution float64) {
	c.files, c.values = append(room(c.files), ref.n), append(room(c.values), value)
	c.resolution = max(c.resolution, resolution)
}

// addLevel adds a level that was read by a quantity. Those read by another than the first are left out.
func (c *column) addLevel(of parser.Quantity, ref fileRef, size parser.Size) {
	if len(c.files) == 0 {
		c.of = of
	}
	if c.of == of {
		c.add(ref, float64(size.Bytes), float64(size.Resolution))
	}
}

// over is the column's values for the given files, NaN where it has none. Where a file has several, the last counts.
func (c *column) over(files []int32) Values {
	values := make(Values, len(files))
	next := 0
	for i, file := range files {
		values[i] = math.NaN()
		for next < len(c.files) && c.files[next] <= file {
			if c.files[next] == file {
				values[i] = c.values[next]
			}
			next++
		}
	}
	return values
}

// A point is a checkpoint that recurs in each file.
type point struct {
	name  string // without its numbers
	full  string // as the last file had it
	level column
}

// pointsMax bounds the points that are told apart: a log may give every checkpoint a name of its own.
const pointsMax = 256

// points are those of a ledger, in the order of a file. Most files have all of them: the next one is guessed.
type points struct {
	all  []*point
	next int
	rest point // what is not told apart
}

// at is the point of the file's next checkpoint.
func (p *points) at(full string) *point {
	if p.next < len(p.all) && p.all[p.next].full == full {
		p.next++
		return p.all[p.next-1]
	}
	name := parser.Uncounted(full)
	at := p.next
	for at < len(p.all) && p.all[at].name != name {
		at++
	}
	if at == len(p.all) { // none of those that may follow
		if len(p.all) == pointsMax {
			p.rest.level = column{}
			return &p.rest
		}
		at = p.next
		p.all = slices.Insert(p.all, at, &point{name: name})
	}
	p.next = at + 1
	p.all[at].full = full
	return p.all[at]
}
