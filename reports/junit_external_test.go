package reports

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"
)

// TestJUnitLoadsElsewhere reads the file with a parser that others wrote.
func TestJUnitLoadsElsewhere(t *testing.T) {
	tl, rep := sample{files: 8, keepFrom: 3, crashAt: 6}.judged()
	hostileTimeline, hostileReport := hostileCase()
	var out, odd bytes.Buffer
	if err := JUnit(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	if err := JUnit(&odd, hostileTimeline, hostileReport); err != nil {
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
			got = append(got, result{c.Classname, c.Name, string(c.Status)})
		}
	}
	want := []result{
		{"vramsoak.recovery", "Whisper Cleanup", "failed"},
		{"vramsoak.recovery", "Transcription", "failed"},
		{"vramsoak.completeness", "files", "failed"},
		{"vramsoak.recovery", "Final Cleanup", "passed"},
		{"vramsoak.peak", "high-water mark", "passed"},
		{"vramsoak.out-of-memory", "allocations", "passed"},
		{"vramsoak.completeness", "checkpoint pairs", "passed"},
		{"vramsoak.consistency", "allocated <= reserved <= total", "passed"},
		{"vramsoak.leak", "idle level", "skipped"}, // seven files ended ok
		{"vramsoak.fragmentation", "reserved - allocated", "skipped"},
		{"vramsoak.dark-memory", "dark memory", "skipped"},
		{"vramsoak.drift", "stages and recoveries", "skipped"},
		{"vramsoak.throughput", "throughput", "skipped"},
		{"vramsoak.file", "audio/0001.wav", "passed"},
		{"vramsoak.file", "audio/0002.wav", "passed"},
		{"vramsoak.file", "audio/0003.wav", "passed"},
		{"vramsoak.file", "audio/0004.wav", "passed"},
		{"vramsoak.file", "audio/0005.wav", "passed"},
		{"vramsoak.file", "audio/0006.wav", "failed"},
		{"vramsoak.file", "audio/0007.wav", "passed"},
		{"vramsoak.file", "audio/0008.wav", "passed"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("as it reads (-want +got):\n%s", diff)
	}
	var seconds float64
	for _, f := range tl.Files {
		seconds += f.Seconds
	}
	if len(suites) != 2 {
		t.Fatalf("%d suites, want 2", len(suites))
	}
	took := suites[1].Totals.Duration - time.Duration(seconds*float64(time.Second))
	if took.Abs() > 10*time.Millisecond { // the file gives milliseconds, the parser sums its cases
		t.Errorf("the files took %v, want %.3f s", suites[1].Totals.Duration, seconds)
	}
}
