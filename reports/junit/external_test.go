package junit

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"

	"vramsoak/fixtures/timelines"
)

// TestJUnitLoadsElsewhere reads junit.xml with the parser of another project.
func TestJUnitLoadsElsewhere(t *testing.T) {
	tl, rep := timelines.Batch{Files: 8, KeepFrom: 3, CrashAt: 6}.Judged()
	hostileTimeline, hostileReport := timelines.Hostile()
	var out, odd bytes.Buffer
	if err := Write(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	if err := Write(&odd, hostileTimeline, hostileReport); err != nil {
		t.Fatal(err)
	}
	suites, err := junit.Ingest(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := junit.Ingest(odd.Bytes()); err != nil {
		t.Error(err)
	}
	type result struct{ class, name, status string }
	var got []result
	for _, suite := range suites {
		for _, c := range suite.Tests {
			got = append(got, result{class: c.Classname, name: c.Name, status: string(c.Status)})
		}
	}
	want := []result{
		{class: "vramsoak.recovery", name: "Whisper Cleanup", status: "failed"},
		{class: "vramsoak.recovery", name: "Transcription", status: "failed"},
		{class: "vramsoak.completeness", name: "files", status: "failed"},
		{class: "vramsoak.recovery", name: "Final Cleanup", status: "passed"},
		{class: "vramsoak.peak", name: "high-water mark", status: "passed"},
		{class: "vramsoak.out-of-memory", name: "allocations", status: "passed"},
		{class: "vramsoak.completeness", name: "checkpoint pairs", status: "passed"},
		{class: "vramsoak.consistency", name: "allocated <= reserved <= total", status: "passed"},
		{class: "vramsoak.leak", name: "idle level", status: "skipped"}, // seven files ended ok
		{class: "vramsoak.fragmentation", name: "reserved - allocated", status: "skipped"},
		{class: "vramsoak.dark-memory", name: "dark memory", status: "skipped"},
		{class: "vramsoak.drift", name: "stages and recoveries", status: "skipped"},
		{class: "vramsoak.throughput", name: "throughput", status: "skipped"},
		{class: "vramsoak.file", name: "audio/0001.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0002.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0003.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0004.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0005.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0006.wav", status: "failed"},
		{class: "vramsoak.file", name: "audio/0007.wav", status: "passed"},
		{class: "vramsoak.file", name: "audio/0008.wav", status: "passed"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("the other parser reads (-want +got):\n%s", diff)
	}
	var seconds float64
	for _, f := range tl.Files {
		seconds += f.Seconds
	}
	if len(suites) != 2 {
		t.Fatalf("%d suites, want 2", len(suites))
	}
	took := suites[1].Totals.Duration - time.Duration(seconds*float64(time.Second))
	if took.Abs() > 10*time.Millisecond { // junit.xml has milliseconds, and the parser sums them
		t.Errorf("the files took %v, want %.3f s", suites[1].Totals.Duration, seconds)
	}
}
