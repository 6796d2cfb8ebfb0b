package check

import (
	"math"
	"slices"

	"vramsoak/harness/shape"
)

// A series holds the values over the files, or over the readings, that are judged for growth.
type series struct {
	check, subject string
	ledger         string // name of the ledger, or ""
	unit           string
	limit          float64 // allowed growth from one value to the next
	peak           float64 // the most memory that the run held, or 0 if the values are not memory
	falls          bool    // set if a fall is bad, as a fall of throughput is
	missing        string  // message if the series has no values at all
	stage          string  // the stage or cleanup to which the values belong
	// per is the noun for one value: "reading", or "" for a file. nameAt returns the name of the
	// value with index i.
	per    string
	nameAt func(i int) string
}

// processValues holds the values of a column in one process. Files of other processes may lie
// between its files, if several processes print into one log.
type processValues struct {
	process    int
	files      []int32 // indices into Timeline.Files
	values     []float64
	resolution float64
	stride     int // 1, or more if the column dropped the values of some files: see column.most
}

// processes returns the values of a column, split by process, without the files that did not end
// well.
func (j *Judge) processes(c *column) []processValues {
	var all []processValues
	first := 0             // index in the column of the last process's first file
	known := map[int]int{} // indices in all
	for i, n := range c.files {
		f := j.tl.Files[n]
		if !j.endedWell(f) {
			continue
		}
		at := len(all) - 1
		if at < 0 || all[at].process != f.Process {
			var again bool
			if at, again = known[f.Process]; !again {
				at, known[f.Process] = len(all), len(all)
				all = append(all, processValues{
					process: f.Process, resolution: c.resolution, stride: int(c.skip) + 1,
				})
			}
		}
		p := &all[at]
		switch {
		case at < len(all)-1:
			p.files, p.values = append(p.files, n), append(p.values, c.values[i])
		case len(p.files) == 0: // start a slice of the column: mostly, nothing must be copied
			p.files, p.values = c.files[i:i+1:i+1], c.values[i:i+1:i+1]
			first = i
		case first+len(p.files) == i:
			p.files, p.values = c.files[first:i+1:i+1], c.values[first:i+1:i+1]
		default:
			p.files, p.values = append(p.files, n), append(p.values, c.values[i])
		}
	}
	slices.SortFunc(all, func(a, b processValues) int { return a.process - b.process })
	return all
}

// span returns the number of files from the first to the last, including those whose values the
// column dropped.
func (p *processValues) span() int {
	return (len(p.files)-1)*p.stride + 1
}

// spread returns the values with one entry for each file of the span, and NaN for a value that
// the column dropped.
func (p *processValues) spread(values []float64) []float64 {
	if p.stride == 1 {
		return values
	}
	all := slices.Repeat([]float64{math.NaN()}, p.span())
	for i := range p.files {
		all[i*p.stride] = values[i]
	}
	return all
}

// at returns the index in Timeline.Files of file i of the span. If the column dropped the file's
// value, it is the last file before it that has one.
func (p *processValues) at(i int) int32 { return p.files[i/p.stride] }

// shape returns the shape of the series in the process: growth, steps, warm-up and so on.
func (j *Judge) shape(s *series, p *processValues) shape.Result {
	in := shape.Series{
		Values: p.values, Resolution: p.resolution, Grain: Grain(s.unit), Level: j.level(s.check),
	}
	if s.falls {
		in.Values = make([]float64, len(p.values))
		for i, v := range p.values {
			in.Values[i] = -v
		}
	}
	if p.stride > 1 {
		in.Values = p.spread(in.Values)
		return shape.Of(in)
	}
	in.Audio = make([]float64, len(p.files))
	for i, n := range p.files {
		if in.Audio[i] = j.tl.Files[n].AudioSeconds; in.Audio[i] == 0 { // all files or none
			in.Audio = nil
			break
		}
	}
	return shape.Of(in)
}
