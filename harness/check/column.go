package check

import (
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A column is one quantity over the files of a lane. Files without it are left out.
type column struct {
	of         record.Quantity // of levels: the quantity by which they were read
	files      []int32         // places in the timeline
	values     []float64
	resolution float64 // the largest
	// most bounds the files; 0 is no bound. Of more files, every second is kept, then every fourth,
	// and so on: those whose number has none of the bits of skip.
	most int
	skip int32
}

func (c *column) add(n int32, value, resolution float64) {
	if n&c.skip != 0 {
		return
	}
	if c.most > 0 && len(c.files) == c.most {
		c.thin(2*c.skip + 1)
		c.add(n, value, resolution)
		return
	}
	c.files, c.values = append(room(c.files), n), append(room(c.values), value)
	c.resolution = max(c.resolution, resolution)
}

// addLevel adds a level. Levels of another quantity than the first one are left out.
func (c *column) addLevel(of record.Quantity, n int32, size record.Size) {
	if len(c.files) == 0 {
		c.of = of
	}
	if c.of == of {
		c.add(n, float64(size.Bytes), float64(size.Resolution))
	}
}

// over returns the column's values for the given files, NaN where it has none. Where a file has
// several, the last counts.
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

// measured returns the column's values in the form of [Metric.Places] and [Metric.Values]. count
// files are measured; places has the place of each file of the timeline among them, or -1. If
// none of these files has a value, both results are nil. The time depends on the number of
// values, not of files.
func (c *column) measured(places []int32, count int) (at []int32, values Values) {
	has := 0
	for _, file := range c.files {
		if places[file] >= 0 {
			has++
		}
	}
	if has == 0 {
		return nil, nil
	}
	at, values = make([]int32, 0, has), make(Values, 0, has)
	for i, file := range c.files {
		switch place := places[file]; {
		case place < 0, len(at) > 0 && place < at[len(at)-1]:
		case len(at) > 0 && at[len(at)-1] == place: // of several, the last counts
			values[len(values)-1] = c.values[i]
		default:
			at, values = append(at, place), append(values, c.values[i])
		}
	}
	if len(at)*sparseShare >= count {
		m := Metric{Places: at, Values: values}
		return nil, m.Dense(count).Values
	}
	return at, values
}

// A point is a checkpoint that recurs in each file.
type point struct {
	name  string // without its numbers
	full  string // as the last file had it
	level column
}

// pointFiles is for how many files the levels at a point are kept.
const pointFiles = 1024

// pointsMax bounds the points: a log may give every checkpoint a name of its own.
const pointsMax = 256

// points are those of a lane, in the order of a file. Most files have all of them, so that at
// tries the next one first.
type points struct {
	all  []*point
	next int
	rest *point // what is not told apart
}

// thin drops the files whose number has any of the bits.
func (c *column) thin(skip int32) {
	c.skip = skip
	kept := 0
	for i, n := range c.files {
		if n&skip == 0 {
			c.files[kept], c.values[kept] = n, c.values[i]
			kept++
		}
	}
	c.files, c.values = c.files[:kept], c.values[:kept]
}

// at returns the point of the file's next checkpoint.
func (p *points) at(full string) *point {
	if p.next < len(p.all) && p.all[p.next].full == full {
		p.next++
		return p.all[p.next-1]
	}
	name := timeline.WithoutNumbers(full)
	at := p.next
	for at < len(p.all) && p.all[at].name != name {
		at++
	}
	if at == len(p.all) { // none of those that may follow
		if len(p.all) == pointsMax {
			p.rest = &point{}
			return p.rest
		}
		at = p.next
		p.all = slices.Insert(p.all, at, &point{name: name, level: column{most: pointFiles}})
	}
	p.next = at + 1
	p.all[at].full = full
	return p.all[at]
}
