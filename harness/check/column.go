package check

import (
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A column holds the values of one quantity over the files, for one device of one rank. It has no
// entry for a file without the quantity.
type column struct {
	of record.Quantity // for levels: the quantity that was read
	// most is the largest number of files that the column keeps; 0 keeps all. When the column is
	// full, it keeps every second value, then every fourth, and so on. skip is a bit mask that says
	// which: the column drops a value whose number has any of the mask's bits. seen is the number
	// of values so far.
	most, skip, seen int32

	files      []int32 // indices into Timeline.Files
	values     []float64
	resolution float64 // the largest rounding error of all values
}

func (c *column) add(n int32, value, resolution float64) {
	number := c.seen
	c.seen++
	if number&c.skip != 0 {
		return
	}
	if c.most > 0 && len(c.files) == int(c.most) {
		if c.thin(); number&c.skip != 0 {
			return
		}
	}
	c.files, c.values = append(room(c.files), n), append(room(c.values), value)
	c.resolution = max(c.resolution, resolution)
}

// addLevel adds the level of file n, unless its quantity differs from that of the column's first
// level.
func (c *column) addLevel(of record.Quantity, n int32, size record.Size) {
	if len(c.files) == 0 {
		c.of = of
	}
	if c.of == of {
		c.add(n, float64(size.Bytes), float64(size.Resolution))
	}
}

// over returns the column's value for each of the given files, or NaN for a file without a value.
// If a file has several values, over returns the last.
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

// measured returns the column's values in the form of [Metric.Places] and [Metric.Values]. The
// parameter count is the number of measured files. The parameter places maps each file of the
// timeline to its index among the measured files, or to -1. Both results are nil if no measured
// file has a value. The time that measured takes depends on the number of values, not on the number
// of files, because a log may have many devices with few files each.
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

// A point is a checkpoint that recurs in each file, such as "After Whisper Cleanup".
type point struct {
	name  string // name with its numbers replaced: "Epoch # start"
	full  string // name in the last file: "Epoch 3 start"
	level column
	// unused holds the memory that is reserved and not allocated, where the checkpoint has both.
	unused column
	pinned *column // nil if the checkpoint gives no pinned memory
}

// pointFiles is the number of files for which the levels of a point are kept.
const pointFiles = 1024

// pointsMax is the largest number of points that are kept, because a log may give every checkpoint
// its own name.
const pointsMax = 256

// points holds the recurring checkpoints on a device, in the order in which a file prints them.
// Most files have the same checkpoints in the same order, so the method at first tries the point
// after the last one.
type points struct {
	all  []*point
	next int
	rest *point // stands for all checkpoints beyond pointsMax; its levels are not used
}

// thin drops every second value.
func (c *column) thin() {
	c.skip = 2*c.skip + 1
	kept := 0
	for i := 0; i < len(c.files); i += 2 {
		c.files[kept], c.values[kept] = c.files[i], c.values[i]
		kept++
	}
	c.files, c.values = c.files[:kept], c.values[:kept]
}

// at returns the point of the file's next checkpoint. The parameter full is the name of that
// checkpoint. at adds the point if there is none.
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
	if at == len(p.all) { // no point that may follow has the name
		if len(p.all) == pointsMax {
			p.rest = &point{}
			return p.rest
		}
		at = p.next
		p.all = slices.Insert(p.all, at, &point{
			name: name, level: column{most: pointFiles}, unused: column{most: pointFiles},
		})
	}
	p.next = at + 1
	p.all[at].full = full
	return p.all[at]
}
