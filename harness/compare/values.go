package compare

import (
	"slices"

	"vramsoak/harness/check"
)

// Values are the values behind a [Change], file by file, for a picture.
type Values struct {
	// Paired is set if Base and New hold the same files in the same order.
	Paired    bool
	Base, New []FileValue
}

// A FileValue is the value of a metric in one file.
type FileValue struct {
	File  check.MeasuredFile
	Value float64
}

// FileByFile returns the values behind each of the changes, which are those of a comparison of now
// with the base. A change that compares no files has no values: that of a growth, or of a metric
// that only one run has.
func FileByFile(base, now *Baseline, changes []Change) []Values {
	paired := (&Comparison{}).pair(base, now)
	out := make([]Values, len(changes))
	for i := range changes {
		of := &changes[i]
		b, n := metricOf(base, of), metricOf(now, of)
		if b == nil || n == nil || b.Unit != n.Unit {
			continue
		}
		t := &test{Change: &Change{Unit: of.Unit}}
		t.sample(b, n, paired)
		v := &out[i]
		if v.Paired = t.Paired; v.Paired {
			for k, p := range t.files {
				v.Base = append(v.Base, FileValue{base.Files[p.base], t.base[k]})
				v.New = append(v.New, FileValue{now.Files[p.new], t.new[k]})
			}
			continue
		}
		for k, value := range b.All() {
			v.Base = append(v.Base, FileValue{base.Files[k], value})
		}
		for k, value := range n.All() {
			v.New = append(v.New, FileValue{now.Files[k], value})
		}
	}
	return out
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
