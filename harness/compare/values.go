package compare

import (
	"math"
	"slices"

	"vramsoak/harness/check"
)

// Files are the files of two runs side by side, and the values of metrics in each file. The page
// and the plot of a comparison draw them.
type Files struct {
	// Places are the files that ended ok in the base or in the new run, each once, in the order of
	// their numbers.
	Places []Place
	Values []Values // of each change
}

// A Place is a file that ended ok in at least one of two runs.
type Place struct {
	// MeasuredFile is the file of the new run, or that of the base if it ended ok only there.
	check.MeasuredFile
	// Number is the place of the file on a common axis. It is the number of the file in the new batch.
	// If these numbers are unknown or occur twice, the files are counted from 1. Files that ended ok
	// only in the base come last.
	Number int
	Only   string // [OnlyBase] or [OnlyNew] if the file ended ok in only one of the runs, else ""
}

// Values are the values behind a [Change].
type Values struct {
	// Paired is set if Base and New hold the same files in the same order.
	Paired    bool
	Base, New []FileValue // what was compared
	// OnlyBase and OnlyNew are the values that were not compared, because the other run has no value
	// for the file. They are empty if the values are not paired.
	OnlyBase, OnlyNew []FileValue
	Worse             WorseFiles
}

// A FileValue is the value of a metric in one file.
type FileValue struct {
	File  check.MeasuredFile
	Value float64
	Place int // index in [Files.Places]
}

// WorseFiles says in how many files a metric is worse by more than is allowed, whatever digits were
// lost when the values were printed. It is empty if the values are not paired.
type WorseFiles struct {
	Count int
	First check.MeasuredFile // in the order of the base
	Most  check.MeasuredFile // the file that got worse by the largest amount, By
	By    float64
}

// FileByFile returns the files of a comparison of now with the base, and the values behind each of
// its changes. A change that compares no files has no values: that of a growth, or of a metric that
// only one run has.
func FileByFile(base, now *Baseline, changes []Change) *Files {
	paired := (&Comparison{}).pair(base, now)
	all := &Files{Values: make([]Values, len(changes))}
	ofBase, ofNew := all.place(base.Files, now.Files, paired)
	for i := range changes {
		of := &changes[i]
		b, n := metricOf(base, of), metricOf(now, of)
		if b == nil || n == nil || b.Unit != n.Unit {
			continue
		}
		t := &test{Change: &Change{Unit: of.Unit, HigherIsBetter: of.HigherIsBetter}}
		t.sample(b, n, paired)
		v := &all.Values[i]
		v.Base, v.New = fileValues(b, base.Files, ofBase), fileValues(n, now.Files, ofNew)
		if v.Paired = t.Paired; !v.Paired {
			continue
		}
		t.Limit = of.Limit
		t.setMargin(of.Limit / math.Abs(t.Base))
		v.Worse = t.worseFiles(now.Files)
		allBase, allNew := v.Base, v.New
		v.Base, v.New = nil, nil
		compared := map[int]bool{} // places
		for k, p := range t.files {
			compared[ofBase[p.base]] = true
			v.Base = append(v.Base, FileValue{base.Files[p.base], t.base[k], ofBase[p.base]})
			v.New = append(v.New, FileValue{now.Files[p.new], t.new[k], ofNew[p.new]})
		}
		isCompared := func(f FileValue) bool { return compared[f.Place] }
		v.OnlyBase = slices.DeleteFunc(allBase, isCompared)
		v.OnlyNew = slices.DeleteFunc(allNew, isCompared)
	}
	return all
}

// fileValues returns the values of a metric with their files.
func fileValues(m *check.Metric, files []check.MeasuredFile, places []int) (all []FileValue) {
	for file, value := range m.All() {
		all = append(all, FileValue{files[file], value, places[file]})
	}
	return all
}

// place sets the places of all files. It returns the index of the place of each file of the base
// and of the new run.
func (all *Files) place(base, now []check.MeasuredFile, paired *pairing) (ofBase, ofNew []int) {
	ofBase, ofNew = make([]int, len(base)), make([]int, len(now))
	for _, file := range inBatch(now) {
		ofNew[file] = len(all.Places)
		all.Places = append(all.Places, Place{MeasuredFile: now[file], Only: OnlyNew})
	}
	all.number()
	for _, file := range inBatch(base) {
		if other := paired.inNew[file]; other >= 0 {
			ofBase[file] = ofNew[other]
			all.Places[ofNew[other]].Only = ""
			continue
		}
		ofBase[file] = len(all.Places)
		number := 1
		if n := len(all.Places); n > 0 {
			number = all.Places[n-1].Number + 1
		}
		all.Places = append(all.Places,
			Place{MeasuredFile: base[file], Number: number, Only: OnlyBase})
	}
	return ofBase, ofNew
}

// number sets the numbers of the files of the new run.
func (all *Files) number() {
	last := 0
	for i := range all.Places {
		p := &all.Places[i]
		if p.Number = p.Index; p.Index <= last {
			for k := range all.Places {
				all.Places[k].Number = k + 1
			}
			return
		}
		last = p.Index
	}
}

// worseFiles returns in how many of the paired files the metric is worse by more than the margin.
func (t *test) worseFiles(files []check.MeasuredFile) (w WorseFiles) {
	certain := less(t.inside(t.new, -t.newDigits), t.inside(t.base, t.baseDigits))
	for k, d := range certain {
		if d <= t.margin {
			continue
		}
		file := files[t.files[k].new]
		if w.Count++; w.Count == 1 {
			w.First = file
		}
		if by := math.Abs(t.new[k] - t.base[k]); by > w.By {
			w.Most, w.By = file, by
		}
	}
	return w
}

// metricOf returns the metric of a change in one run, or nil.
func metricOf(run *Baseline, of *Change) *check.Metric {
	i := slices.IndexFunc(run.Metrics, func(m check.Metric) bool {
		return m.Name == of.Name && m.Rank == of.Rank && m.Device == of.Device
	})
	if i < 0 {
		return nil
	}
	return &run.Metrics[i]
}
