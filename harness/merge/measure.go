package merge

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/harness/shard"
)

// measuredMost is how many files of a batch are measured one by one. The values of more files would
// take too much memory.
const measuredMost = 200_000

// A measurer joins what the shards of a run measured.
type measurer struct {
	files     []check.MeasuredFile
	failed    []check.MeasuredFile
	metrics   map[metricKey]*check.Metric
	order     []metricKey
	processes int  // of the shards so far
	byShard   bool // a shard counts as one file
	tooMany   bool // the log did not say before how many files there are
}

type metricKey struct {
	name, unit   string
	rank, device int
}

// newMeasurer returns a measurer for a batch of so many files; 0 if their number is unknown.
func newMeasurer(of int) *measurer {
	return &measurer{metrics: map[metricKey]*check.Metric{}, byShard: of > measuredMost}
}

// add adds what a shard measured. The files of a process stay together, so that its growth can be
// compared.
func (m *measurer) add(of *check.Measurements, number int) {
	m.tooMany = m.tooMany || !m.byShard && len(m.files)+len(of.Files) > measuredMost
	switch {
	case m.tooMany:
		m.files, m.failed, m.metrics = nil, nil, nil
		return
	case m.byShard:
		m.addShard(of, number)
		return
	}
	offset := int32(len(m.files))
	m.addFiles(&m.files, of.Files)
	m.addFiles(&m.failed, of.Failed)
	m.nextProcesses(of)
	for i := range of.Metrics {
		from := &of.Metrics[i]
		into := m.metric(from)
		for place, v := range from.All() {
			into.Places = append(into.Places, offset+int32(place))
			into.Values = append(into.Values, v)
		}
	}
}

// addFiles adds files, and numbers their processes behind those of the shards before.
func (m *measurer) addFiles(into *[]check.MeasuredFile, files []check.MeasuredFile) {
	for _, f := range files {
		f.Process += m.processes
		*into = append(*into, f)
	}
}

// nextProcesses counts the processes of a shard.
func (m *measurer) nextProcesses(of *check.Measurements) {
	most := 0
	for _, files := range [][]check.MeasuredFile{of.Files, of.Failed} {
		for _, f := range files {
			most = max(most, f.Process)
		}
	}
	m.processes += most + 1
}

// metric returns the metric of the whole run to which the values of one of a shard belong.
func (m *measurer) metric(of *check.Metric) *check.Metric {
	k := metricKey{of.Name, of.Unit, of.Rank, of.Device}
	into := m.metrics[k]
	if into == nil {
		into = &check.Metric{
			Name: of.Name, Unit: of.Unit, Rank: of.Rank, Device: of.Device,
			HigherIsBetter: of.HigherIsBetter, Places: []int32{},
		}
		m.metrics[k], m.order = into, append(m.order, k)
	}
	into.Resolution = max(into.Resolution, of.Resolution)
	return into
}

// addShard adds a shard as if it were one file, with the highest of its peaks and the median of
// its other values.
func (m *measurer) addShard(of *check.Measurements, number int) {
	if len(of.Files) == 0 {
		return
	}
	place := int32(len(m.files))
	m.files = append(m.files, check.MeasuredFile{
		Path: shard.Folder(number), Index: number, Process: m.processes,
	})
	m.processes++
	for i := range of.Metrics {
		from := &of.Metrics[i]
		var values []float64
		for _, v := range from.All() {
			values = append(values, v)
		}
		if len(values) == 0 {
			continue
		}
		v := shape.Median(values)
		if check.IsPeak(from.Name) {
			v = slices.Max(values)
		}
		into := m.metric(from)
		into.Places, into.Values = append(into.Places, place), append(into.Values, v)
	}
}

// errTooMany says why a run is not measured.
var errTooMany = fmt.Errorf("expected at most %d files to compare, because the length of the "+
	"batch is not known in advance (--until), found more; compare single shards, such as %s",
	measuredMost, shard.Folder(1))

// sparseShare is as in package check: a metric that fewer files have lists their places.
const sparseShare = 16

// measured returns what the whole run measured.
func (m *measurer) measured() *check.Measurements {
	all := &check.Measurements{
		Files: m.files, Failed: m.failed, Metrics: make([]check.Metric, 0, len(m.order)),
	}
	for _, k := range m.order {
		metric := *m.metrics[k]
		if len(metric.Values)*sparseShare >= len(m.files) {
			metric = metric.Dense(len(m.files))
		}
		all.Metrics = append(all.Metrics, metric)
	}
	return all
}
