package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// measured judges a run, and returns what it measured.
func measured(t *testing.T, path string) *check.Measurements {
	t.Helper()
	found, err := Find([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	run, err := Open(found, false)
	if err != nil {
		t.Fatal(err)
	}
	run.Measures = true
	judged, err := run.Judge(check.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return judged.Report.Measured
}

// metricOf returns the values of a metric by the places of the files in the batch.
func metricOf(m *check.Measurements, name string) map[int]float64 {
	values := map[int]float64{}
	for i := range m.Metrics {
		if m.Metrics[i].Name == name {
			for at, v := range m.Metrics[i].All() {
				values[m.Files[at].Index] = v
			}
		}
	}
	return values
}

// TestMeasured: the files of two shards with two files each are measured under their places in the
// batch. File 3 failed. The processes of both shards differ.
func TestMeasured(t *testing.T) {
	t.Parallel()
	shards := newShards(2, 4)
	shards[0].level = func(i int) int64 { return int64(i) << 20 }
	shards[1].level = func(i int) int64 { return 100 + int64(i) }
	shards[0].status = func(place int) record.Status {
		if place == 3 {
			return record.StatusFailed
		}
		return record.StatusOK
	}
	m := measured(t, write(t, shards))
	file := func(place, process int) check.MeasuredFile {
		paths := map[int]string{1: "0001.wav", 2: "0002.wav", 3: "0003.wav", 4: "0004.wav"}
		return check.MeasuredFile{
			Path: paths[place], Index: place, AudioSeconds: 60, Process: process,
		}
	}
	want := &check.Measurements{
		Files:  []check.MeasuredFile{file(1, 0), file(2, 1), file(4, 1)},
		Failed: []check.MeasuredFile{file(3, 0)},
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(check.Measurements{}, "Metrics")); diff != "" {
		t.Error(diff)
	}
	levels := map[int]float64{1: 1 << 30, 2: 1<<30 + 100, 4: 1<<30 + 101}
	if diff := cmp.Diff(levels, metricOf(m, check.IdleLevel)); diff != "" {
		t.Error(diff)
	}
	for i := range m.Metrics {
		if !m.Metrics[i].Fits(len(m.Files)) {
			t.Errorf("%s has %d values for %d files", m.Metrics[i].Name, len(m.Metrics[i].Values),
				len(m.Files))
		}
	}
}

// TestMeasuredByShard: of a batch with too many files, each shard is measured as a file: with the
// highest of its peaks and the median of its levels.
func TestMeasuredByShard(t *testing.T) {
	t.Parallel()
	m := newMeasurer(measuredMost + 1)
	for number := 1; number <= 2; number++ {
		m.add(&check.Measurements{
			Files: make([]check.MeasuredFile, 3),
			Metrics: []check.Metric{
				{Name: check.IdleLevel, Unit: check.Bytes, Values: check.Values{5, 1, 3}},
				{Name: check.Peak, Unit: check.Bytes, Values: check.Values{5, 9, float64(number)}},
			},
		}, number)
	}
	want := &check.Measurements{
		Files: []check.MeasuredFile{
			{Path: "shard-0001", Index: 1}, {Path: "shard-0002", Index: 2, Process: 1},
		},
		Metrics: []check.Metric{
			{Name: check.IdleLevel, Unit: check.Bytes, Values: check.Values{3, 3}},
			{Name: check.Peak, Unit: check.Bytes, Values: check.Values{9, 9}},
		},
	}
	if diff := cmp.Diff(want, m.measured()); diff != "" || !m.byShard {
		t.Error(diff)
	}
}

// TestTooMany: a run whose length was not known is not measured beyond the largest number of files.
func TestTooMany(t *testing.T) {
	t.Parallel()
	m := newMeasurer(0)
	m.add(&check.Measurements{Files: make([]check.MeasuredFile, measuredMost)}, 1)
	if m.tooMany {
		t.Error("a run of the largest size is too large")
	}
	m.add(&check.Measurements{Files: make([]check.MeasuredFile, 1)}, 2)
	if !m.tooMany || m.files != nil {
		t.Error("a larger run is measured")
	}
}
