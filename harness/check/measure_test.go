package check_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

const threeFiles = `
[vramsoak] run-start files=3 feed=stdin command=c version=v
[vramsoak] file-start index=1 path=a.wav audio_seconds=10
[GPU Memory] Before Transcription: Allocated: 0.00GB | allocated=100 reserved=1000 used=1500
[GPU Memory] Before Whisper Cleanup: Allocated: 0.02GB | allocated=20000100 reserved=30000000
[GPU Memory] After Whisper Cleanup: Allocated: 0.00GB | allocated=100 reserved=1000 used=1500
[GPU Memory] After Transcription: Allocated: 0.00GB | allocated=200 reserved=1000 used=1700
[vramsoak] file-end index=1 status=ok seconds=2
[vramsoak] file-start index=2 path=b.wav audio_seconds=10
[GPU Memory] Before Transcription: Allocated: 0.00GB | allocated=100 reserved=1000
[vramsoak] file-end index=2 status=failed seconds=2
[vramsoak] file-start index=3 path=c.wav audio_seconds=20
[GPU Memory] Before Transcription: Allocated: 0.00GB | allocated=200 reserved=1000
[GPU Memory] Before Whisper Cleanup: Allocated: 0.04GB | allocated=40000200 reserved=50000000
[GPU Memory] After Whisper Cleanup: Allocated: 0.01GB | allocated=10000200 reserved=50000000
[GPU Memory] After Transcription: Allocated: 0.00GB | allocated=300 reserved=2300
[vramsoak] file-end index=3 status=ok seconds=5
[vramsoak] run-end files=3 seconds=9 reason=done
`

// TestMeasured compares the metrics with values that were derived by hand from threeFiles. The
// second of these files failed, so it has no values.
func TestMeasured(t *testing.T) {
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(threeFiles), "run.log"); err != nil {
		t.Fatal(err)
	}
	got := check.Of(b.Timeline(), check.DefaultPolicy()).Measured
	want := &check.Measurements{
		Failed: []check.MeasuredFile{{Path: "b.wav", Index: 2, AudioSeconds: 10}},
		Files: []check.MeasuredFile{
			{Path: "a.wav", Index: 1, AudioSeconds: 10}, {Path: "c.wav", Index: 3, AudioSeconds: 20},
		},
		Metrics: []check.Metric{
			{Name: "idle level", Unit: "bytes", Values: check.Values{200, 300}},
			{Name: "reserved - allocated", Unit: "bytes", Values: check.Values{800, 2000}},
			{Name: "dark memory", Unit: "bytes", Values: check.Values{700, math.NaN()}},
			{Name: "peak", Unit: "bytes", Values: check.Values{20000100, 40000200}},
			{Name: "peak reserved", Unit: "bytes", Values: check.Values{30000000, 50000000}},
			{Name: "peak of Transcription", Unit: "bytes", Values: check.Values{20000100, 40000200}},
			{
				Name: "recovery of Whisper Cleanup", Unit: "ratio", HigherIsBetter: true,
				Values: check.Values{1, 0.75},
			},
			{Name: "recovery of Transcription", Unit: "ratio", HigherIsBetter: true, Values: check.Values{
				(20000100. - 200) / 20000000, (40000200. - 300) / 40000000,
			}},
			{Name: "throughput", Unit: "x real time", HigherIsBetter: true, Values: check.Values{5, 4}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// TestValuesJSON: in JSON, missing values are null, and reading gives the same values back.
func TestValuesJSON(t *testing.T) {
	for _, values := range []check.Values{{}, {math.NaN(), 1.5, -9007199254740991}} {
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		var back check.Values
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values, back, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestMeasuredAbsurdSpeed: a speed that is not a finite number is left out, because a baseline is
// JSON and could not hold it.
func TestMeasuredAbsurdSpeed(t *testing.T) {
	log := strings.Replace(threeFiles, "audio_seconds=10\n", "audio_seconds=1e308\n", 1)
	log = strings.Replace(log, "seconds=2\n", "seconds=1e-3\n", 1)
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	metrics := check.Of(b.Timeline(), check.DefaultPolicy()).Measured.Metrics
	speed := metrics[len(metrics)-1]
	if diff := cmp.Diff(check.Values{math.NaN(), 4}, speed.Values, cmpopts.EquateNaNs()); diff != "" ||
		speed.Name != "throughput" {
		t.Errorf("%s: %s", speed.Name, diff)
	}
}

// TestMeasuredOfManyDevices: if each file of a batch is on a device of its own, a metric stores
// only the values that exist. 40 files on 40 devices have 40 idle levels, not 1,600.
func TestMeasuredOfManyDevices(t *testing.T) {
	t.Parallel()
	const n = 40
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, "[vramsoak] file-start index=%d path=%d.wav\n", i+1, i)
		fmt.Fprintf(&log, "[GPU Memory] Before X Cleanup: Allocated: 1.00GB | allocated=%d device=%d\n",
			1<<30, i)
		fmt.Fprintf(&log, "[GPU Memory] After X Cleanup: Allocated: 0.00GB | allocated=%d device=%d\n", i,
			i)
		fmt.Fprintf(&log, "[vramsoak] file-end index=%d status=ok\n", i+1)
	}
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(log.String()), "run.log"); err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, m := range check.Of(b.Timeline(), check.DefaultPolicy()).Measured.Metrics {
		values += len(m.Values)
		if !m.Fits(n) || m.Fits(m.Device) {
			t.Errorf("%s of device %d: Fits(%d) = %v, Fits(%d) = %v, expected true and false",
				m.Name, m.Device, n, m.Fits(n), m.Device, m.Fits(m.Device))
		}
		if m.Name != check.IdleLevel {
			continue
		}
		for place, v := range m.All() {
			if place != m.Device || v != float64(m.Device) {
				t.Errorf("device %d: got %v in file %d, want %d in file %d", m.Device, v, place, m.Device,
					m.Device)
			}
		}
		dense := m.Dense(n)
		if len(dense.Values) != n || dense.Values[m.Device] != float64(m.Device) || dense.Places != nil {
			t.Errorf("device %d: the dense form is %+v", m.Device, dense)
		}
	}
	if most := 3 * n; values != most { // idle level, peak, recovery
		t.Errorf("got %d values, want %d", values, most)
	}
}

// TestFailedFiles: Measurements.Failed leaves out a file that ended well in a retry, and one that
// ended only because the harness was interrupted. It has a file that never ends in a log without a
// harness.
func TestFailedFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, log, want string }{
		{"failed", "[vramsoak] file-start index=1 path=a\n[vramsoak] file-end index=1 status=oom\n", "a"},
		{
			"retried", "[vramsoak] file-start index=1 path=a\n[vramsoak] file-end index=1 status=crashed\n" +
				"[vramsoak] file-start index=1 path=a\n[vramsoak] file-end index=1 status=ok\n", "",
		},
		{
			"interrupted", "[vramsoak] file-start index=1 path=a\n[vramsoak] file-end index=1 status=ok\n" +
				"[vramsoak] file-start index=2 path=b\n", "",
		},
		{
			"left open", "[pipeline] file-start path=a\n[pipeline] file-end path=a status=ok\n" +
				"[pipeline] file-start path=b\n[GPU Memory] Start: Allocated: 1.00GB\n", "b",
		},
		{"no line shows how files end", "[GPU Memory] Start: Allocated: 1.00GB\n", ""},
	} {
		b := parser.Builder{}
		if err := b.Read(strings.NewReader(tt.log), "run.log"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range check.Of(b.Timeline(), check.DefaultPolicy()).Measured.Failed {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: failed files %q, want %q", tt.name, got, tt.want)
		}
	}
}
