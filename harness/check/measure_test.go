package check_test

import (
	"encoding/json"
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

// TestMeasured derives each value by hand from the log above. The second file failed and is left out.
func TestMeasured(t *testing.T) {
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(threeFiles), "run.log"); err != nil {
		t.Fatal(err)
	}
	got := check.Of(b.Timeline(), check.DefaultPolicy()).Measured()
	want := &check.Measurements{
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
			{Name: "recovery of Whisper Cleanup", Unit: "ratio", HigherIsBetter: true, Values: check.Values{1, 0.75}},
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

// A speed that is no finite number is none: a baseline, which is JSON, could not hold it.
func TestMeasuredAbsurdSpeed(t *testing.T) {
	log := strings.Replace(threeFiles, "audio_seconds=10\n", "audio_seconds=1e308\n", 1)
	log = strings.Replace(log, "seconds=2\n", "seconds=1e-3\n", 1)
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(log), "run.log"); err != nil {
		t.Fatal(err)
	}
	metrics := check.Of(b.Timeline(), check.DefaultPolicy()).Measured().Metrics
	speed := metrics[len(metrics)-1]
	if diff := cmp.Diff(check.Values{math.NaN(), 4}, speed.Values, cmpopts.EquateNaNs()); diff != "" || speed.Name != "throughput" {
		t.Errorf("%s: %s", speed.Name, diff)
	}
}
