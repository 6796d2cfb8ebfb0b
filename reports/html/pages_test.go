package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/history"
	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/pipeline/validation"
)

var codeMarkup = regexp.MustCompile(`</?code>|<span class="(?:long )?w">([^<]*)</span>`)

// top returns a page up to the end of its first section, without the markup of commands.
func top(t *testing.T, page []byte) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(page), "<main")
	text, _, found := strings.Cut(rest, "</section>")
	if !found {
		t.Fatal("the page has no section")
	}
	return codeMarkup.ReplaceAllString(text, "$1")
}

// lacks fails the test if a text lacks one of the words, or has them in another order.
func lacks(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		_, rest, found := strings.Cut(text, w)
		if !found {
			t.Errorf("the page lacks %q, or has it at another place", w)
			continue
		}
		text = rest
	}
}

// nights returns a history of ten runs whose peak in Transcription has these values in MiB.
func nights(values ...float64) *history.History {
	h := &history.History{Suite: "nightly<b>"}
	s := history.Series{
		SeriesKey: history.SeriesKey{Metric: "peak of Transcription", Statistic: history.Worst},
		Unit:      check.Bytes,
	}
	for i, v := range values {
		h.Runs = append(h.Runs, history.Entry{
			ID: int64(i + 1), Started: time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC),
			Commit: fmt.Sprintf("%07d", i), Verdict: check.Pass, Files: 20,
			Log: fmt.Sprintf("night %d.log", i),
		})
		s.Runs = append(s.Runs, i)
		s.Values = append(s.Values, v*(1<<20))
	}
	h.Series = []history.Series{s}
	return h
}

func historyPage(t *testing.T, h *history.History) []byte {
	t.Helper()
	policy := check.DefaultPolicy().Regression
	p := History{History: h, Series: h.Judged(), Outcome: h.Gate(policy)}
	p.Changes, _ = h.Changes(p.Series, policy)
	p.Drifts = h.Drifts(p.Series, p.Changes, policy)
	var out bytes.Buffer
	if err := WriteHistory(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHistory: a step after the 12th of 24 nights has a first bad run and a last good one; ten
// nights that rise by 100 MiB each have a rate.
func TestHistory(t *testing.T) {
	var steps []float64
	for i := range 24 {
		v := 6000 + float64(i%3)
		if i >= 12 {
			v += 500
		}
		steps = append(steps, v)
	}
	page := historyPage(t, nights(steps...))
	lacks(t, top(t, page), "fail", "peak of Transcription, worst: ", "MiB", "Stage", "Transcription",
		"First bad run", "run 13, 2026-11-13 02:00 UTC, commit 0000012", "Last good run",
		"run 12, 2026-11-12", "git log 0000011..0000012",
		"vramsoak compare &#39;night 11.log&#39; &#39;night 12.log&#39;")
	var slow []float64
	for i := range 10 {
		slow = append(slow, 6000+100*float64(i)+float64(i%3))
	}
	h := nights(slow...)
	alike := h.Series[0] // the peak of the run is that of its largest stage
	alike.SeriesKey = history.SeriesKey{Metric: "peak", Statistic: history.Worst}
	h.Series = append(h.Series, alike)
	page = historyPage(t, h)
	lacks(t, top(t, page), "rises slowly, by 100 MiB a run (95 %: ", "over 10 runs (&#43;15.0 %)",
		"without a step", "the same: peak, worst", "Transcription", "from run 1, ", "to run 10, ",
		"MiB a run (95 %: ", "900 MiB more over 10 runs", "if it goes on, 100 MiB more with each run",
		"history gate does not fail because of a slow rise",
		"no step; 2 series rise slowly")
	for _, not := range []string{
		"no change", "First run", "also ", "--accept", "same commit", "git log",
	} {
		if strings.Contains(top(t, page), not) {
			t.Errorf("the page of a slow rise says %q", not)
		}
	}
	if bytes.Contains(page, []byte("nightly<b>")) {
		t.Error("the name of the suite became markup")
	}
	for _, empty := range []string{"Host", "GPU"} { // no run says it
		if bytes.Contains(page, []byte("<th scope=\"col\">"+empty+"</th>")) {
			t.Errorf("the table of runs has the empty column %s", empty)
		}
	}
	lacks(t, string(page), "<th scope=\"col\">Commit</th>", "<th scope=\"col\">Log</th>")
	// 18 MiB a night since night 5 are too few nights for steps, so that the gate ignores the rise.
	h = nights(300, 301, 300, 301, 319, 337, 355, 373, 391, 409)
	h.Series[0].SeriesKey = history.SeriesKey{Metric: "idle level", Statistic: history.MedianOf}
	page = historyPage(t, h)
	lacks(t, top(t, page), "noted", "Last good run", "run 4, ", "Consequence", "MiB more over 6 runs",
		"git log 0000003..0000004")
	if strings.Contains(top(t, page), "--accept") {
		t.Error("the page of a rise that the gate ignores advises to accept it")
	}
	// 12 MiB a night since night 5: the gate fails, because of one rise and not of several steps.
	slow = nil
	for i := range 30 {
		slow = append(slow, 6000+12*float64(max(0, i-3))+0.3*float64(i%3))
	}
	page = historyPage(t, nights(slow...))
	lacks(t, top(t, page), "fail", "rises slowly, by 12.0 MiB a run", "from run 5, ", "Last good run",
		"run 4, ", "history gate fails until it is mended or accepted", "git log 0000003..0000004",
		"vramsoak compare &#39;night 3.log&#39; &#39;night 29.log&#39;", "--accept")
	lacks(t, string(page), "<th scope=\"col\">First run</th>", "slowly worse", "run 5, 2026-11-05",
		"run 4, 2026-11-04")
	if strings.Contains(top(t, page), "First bad run") ||
		strings.Contains(top(t, page), "does not fail") {
		t.Errorf("the page of a rise that fails the gate:\n%s", top(t, page))
	}
}

// TestComparison: the peak of b.wav rose by 1 GiB. The page names the stage and the file.
func TestComparison(t *testing.T) {
	run := func(more float64) *compare.Baseline {
		m := check.Measurements{}
		values := check.Values{}
		for i := range 12 {
			m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%c.wav", 'a'+i), Index: i + 1})
			v := 6.0 * (1 << 30)
			if i > 0 {
				v += more
			}
			values = append(values, v)
		}
		m.Metrics = []check.Metric{{Name: "peak of Transcription", Unit: check.Bytes, Values: values}}
		return compare.New(m, compare.RunInfo{Log: "<i>.log"})
	}
	base, now := run(0), run(1<<30)
	policy := check.DefaultPolicy()
	c := Comparison{Comparison: compare.Runs(base, now, policy), Base: base, New: now}
	c.Verdict = c.Changes[0].Verdict
	var out bytes.Buffer
	if err := WriteComparison(&out, c); err != nil {
		t.Fatal(err)
	}
	lacks(t, top(t, out.Bytes()), "fail", "peak of Transcription: rose by", "Stage", "Transcription",
		"11 of 12 files in both runs are worse by more than is allowed", "first file 2: b.wav",
		"by 1.00 GiB", "6.00 GiB in the base, 7.00 GiB in the new run")
	if bytes.Contains(out.Bytes(), []byte("<i>")) {
		t.Error("the name of a log became markup")
	}
	var d seriesDocument
	if err := json.Unmarshal(dataOf(t, out.Bytes()), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Series) != 1 || len(d.Series[0].Lines) != 2 || len(d.Labels) != 12 {
		t.Errorf("got %d charts and %d labels", len(d.Series), len(d.Labels))
	}
}

// TestLongComparison: of 10,000 files, one peak of the new run is 9 GiB. The chart shows fewer
// files, but this one is among them.
func TestLongComparison(t *testing.T) {
	run := func(peak float64) *compare.Baseline {
		m := check.Measurements{}
		values := slices.Repeat(check.Values{6 << 30}, 10_000)
		values[7_776] = peak
		for i := range values {
			m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%d.wav", i), Index: i + 1})
		}
		m.Metrics = []check.Metric{{Name: "peak", Unit: check.Bytes, Values: values}}
		return compare.New(m, compare.RunInfo{})
	}
	base, now := run(6<<30), run(9<<30)
	c := Comparison{Comparison: compare.Runs(base, now, check.DefaultPolicy()), Base: base, New: now}
	var out bytes.Buffer
	if err := WriteComparison(&out, c); err != nil {
		t.Fatal(err)
	}
	var d seriesDocument
	if err := json.Unmarshal(dataOf(t, out.Bytes()), &d); err != nil {
		t.Fatal(err)
	}
	s := d.Series[0]
	at := slices.Index(s.X, 7_777)
	if at < 0 || s.Lines[1].Values[at] != 9<<30 || s.At[at] != 7_776 || len(s.X) > comparedMax ||
		!strings.Contains(s.Note, "of 10,000 files: the lowest and highest") {
		t.Errorf("the chart shows %d files, that of 9 GiB at %d: %s", len(s.X), at, s.Note)
	}
}

// TestMovedBatch: the batch moved to another folder, lost a.wav and gained m.wav and n.wav. The
// page pairs files as the comparison does.
func TestMovedBatch(t *testing.T) {
	run := func(folder string, from, number int, peak float64) *compare.Baseline {
		m := check.Measurements{}
		var values check.Values
		for i := from; i < number; i++ {
			m.Files = append(m.Files, check.MeasuredFile{
				Path: fmt.Sprintf("%s/%c.wav", folder, 'a'+i), Index: i + 1 - from,
			})
			values = append(values, peak)
		}
		m.Metrics = []check.Metric{{Name: "peak", Unit: check.Bytes, Values: values}}
		return compare.New(m, compare.RunInfo{})
	}
	base, now := run("/old", 0, 12, 6<<30), run("/new", 1, 14, 7<<30) // a to l, and b to n
	c := Comparison{Comparison: compare.Runs(base, now, check.DefaultPolicy()), Base: base, New: now}
	c.Verdict = c.Changes[0].Verdict
	var out bytes.Buffer
	if err := WriteComparison(&out, c); err != nil {
		t.Fatal(err)
	}
	lacks(t, top(t, out.Bytes()), "11 of 11 files in both runs are worse by more than is allowed",
		"first file 1: b.wav")
	lacks(t, top(t, out.Bytes()), "11 files in both runs, 1 only in the base, 2 only in the new run")
	var d seriesDocument
	if err := json.Unmarshal(dataOf(t, out.Bytes()), &d); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"file 1: b.wav", "file 12: m.wav (ok only in the new run)", "file 1: a.wav (ok only in the base)",
	}
	if got := []string{d.Labels[0], d.Labels[11], d.Labels[13]}; !slices.Equal(got, want) ||
		len(d.Labels) != 14 || d.Series[0].X[13] != 14 {
		t.Errorf("got the %d labels %q", len(d.Labels), d.Labels)
	}
}

// TestCalls: two stacks share their outermost call; the tree sums up their bytes.
func TestCalls(t *testing.T) {
	frame := func(name string) *snapshot.Frame {
		return &snapshot.Frame{Function: name, File: "/home/me/a.py", Line: 1}
	}
	main, load, run := frame("main"), frame("load"), frame("run")
	c := newCalls()
	c.add(&snapshot.Stack{Frames: []*snapshot.Frame{load, main}}, true, 300)
	c.add(&snapshot.Stack{Frames: []*snapshot.Frame{run, main}}, true, 700)
	c.add(&snapshot.Stack{Frames: []*snapshot.Frame{run, main}}, true, 100)
	c.add(nil, true, 50)
	p := newSnapshotPage()
	d := p.tree(c)
	want := []string{
		"/home/me/a.py:1 main", "/home/me/a.py:1 run", "/home/me/a.py:1 load", snapshot.Before,
	}
	if diff := cmp.Diff(want, p.doc.Names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(treeData{
		Depth: column{0, 1, 1, 0}, Name: column{0, 1, 2, 3}, Bytes: column{1100, 800, 300, 50},
		Blocks: column{3, 2, 1, 1},
	}, d); diff != "" {
		t.Error(diff)
	}
}

// TestSnapshots: the page of a real recording.
func TestSnapshots(t *testing.T) {
	path := "../../fixtures/logs/torch_snapshot/silmont2000-assignment2-systems-mem-snapshot.pickle"
	snap, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := Snapshot{Name: "</script>.pickle", Snapshot: snap}
	for i := range snap.Devices {
		s.Analyses = append(s.Analyses, snap.Devices[i].Analyze(snap.Annotations))
	}
	var out bytes.Buffer
	if err := WriteSnapshots(&out, []Snapshot{s}, "v1"); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("</script>")); n != 2 {
		t.Errorf("the page has %d ends of scripts, want 2", n)
	}
	var d struct {
		Held []struct {
			Holdings []struct {
				Bytes int64
				Tree  struct{ Bytes, Depth []int64 }
			}
		}
		Segments []mapSeries
	}
	if err := json.Unmarshal(dataOf(t, out.Bytes()), &d); err != nil {
		t.Fatal(err)
	}
	// In the end 31,719,936 bytes are in use: fixtures/logs/torch_snapshot/expected.txt.
	if len(d.Held) != 1 {
		t.Fatalf("got %d devices", len(d.Held))
	}
	if all := d.Held[0].Holdings; len(all) != 2 || all[0].Bytes != 31_719_936 {
		t.Errorf("got %d moments, the first with %d bytes", len(all), all[0].Bytes)
	}
	if len(d.Segments) != 1 || len(d.Segments[0].Maps) < 2 {
		t.Errorf("got the maps of %d devices", len(d.Segments))
	}
}

// TestSnapshotDevices: each of two devices of two snapshots has tables of its own. The summary is
// about the second snapshot's second device, on which an allocation failed, and links to its table.
func TestSnapshotDevices(t *testing.T) {
	of := func(device int, active int64, failed bool) *snapshot.Analysis {
		site := snapshot.Site{File: "/home/me/a.py", Line: 1, Function: "main"}
		a := &snapshot.Analysis{Device: device, Holds: []snapshot.Usage{
			{Site: site, Bytes: active, Blocks: 1, Largest: active},
		}}
		a.Totals.Active, a.Totals.Reserved = active, 2*active
		a.Trace = &snapshot.Trace{
			Kept: []snapshot.Growth{{Usage: snapshot.Usage{Site: site, Bytes: active}}},
		}
		if failed {
			a.Trace.OOMs = []snapshot.OutOfMemory{{Site: site, Requested: 1 << 30}}
		}
		return a
	}
	two := &snapshot.Snapshot{Devices: []snapshot.Device{{}, {}}}
	all := []Snapshot{
		{"a<b>.pickle", two, []*snapshot.Analysis{of(0, 5<<30, false), of(1, 6<<30, false)}},
		{"b.pickle", two, []*snapshot.Analysis{of(0, 1<<30, false), of(1, 1<<30, true)}},
	}
	var out bytes.Buffer
	if err := WriteSnapshots(&out, all, "v1"); err != nil {
		t.Fatal(err)
	}
	lacks(t, out.String(), "out of memory at a.py:1 main", `href="#kept-3"`, `id="overview"`,
		"a&lt;b&gt;.pickle, device 1", "b.pickle, device 1", `data-device="3"`, `id="holds-3"`,
		`id="kept-3"`)
	var d snapshotDocument
	if err := json.Unmarshal(dataOf(t, out.Bytes()), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Devices) != 4 || d.Lead != 3 {
		t.Errorf("got %d devices, the summary is about %d", len(d.Devices), d.Lead)
	}
}

// TestFactsBelow: the top of a page does not say the same twice.
func TestFactsBelow(t *testing.T) {
	for _, c := range []struct{ title, facts, want string }{
		{"60 files", "60 files", ""},
		{"60 files", "60 files; not judged: leak", "not judged: leak"},
		{"60 files", "60 files, 5 checkpoints", "60 files, 5 checkpoints"},
		{"leak", "60 files", "60 files"},
	} {
		if got := (summary{Title: c.title, Facts: c.facts}).FactsBelow(); got != c.want {
			t.Errorf("below the title %q: %q, want %q", c.title, got, c.want)
		}
	}
}

// TestSegmentsAreLimited: 2,000 maps of 1,000 blocks each are too many for a page. It keeps the
// first map, the last one nearly, and the first failure.
func TestSegmentsAreLimited(t *testing.T) {
	s := NewSegments()
	blocks := make([]record.Block, 1000)
	for i := range blocks {
		blocks[i].Size = 512
	}
	for i := range 2000 {
		m := record.SegmentMap{Segments: []record.Segment{{Size: 512_000, Blocks: blocks}}}
		if i == 777 {
			m.Requested = 1 << 20
		}
		s.Add(m)
		s.Add(record.Checkpoint{})
	}
	if s.blocks > blocksMax {
		t.Errorf("%d blocks are kept", s.blocks)
	}
	d := s.series("")[0]
	first, last := d.Maps[0].Number, d.Maps[len(d.Maps)-1].Number
	failed := 0
	for _, m := range d.Maps {
		if m.Requested > 0 {
			failed = m.Number
		}
	}
	if d.All != 2000 || first != 1 || last < 1990 || failed != 778 {
		t.Errorf("of %d maps, the first is %d, the last %d, the failure %d", d.All, first, last, failed)
	}
}

// TestNeeds: the page of a batch that does not fit.
func TestNeeds(t *testing.T) {
	v := &validation.Report{
		Answer: validation.DoesNotFit, Scenario: "speech<i>", Total: 16 << 30, Files: 50, Failed: 10,
		FirstFailed: 40, Headroom: -4 << 30,
		Stages: []validation.StageNeed{{
			Stage: "Transcription", Reached: true, Need: 20 << 30, Share: 1.25, File: 50,
			Parts: []validation.Part{{What: "weights", Bytes: 12 << 30}, {What: "mel", Bytes: 8 << 30}},
		}},
		Failure: &validation.Refusal{
			File: 40, Stage: "Transcription", What: "mel", Requested: 2 << 30, FreeInSum: 1 << 30,
			LargestFree: 512 << 20,
		},
		Checks: &check.Report{Verdict: check.Fail},
	}
	var out bytes.Buffer
	if err := WriteNeeds(&out, v, "v1"); err != nil {
		t.Fatal(err)
	}
	lacks(t, top(t, out.Bytes()), "fail", "it does not fit", "the card is full; 2.00 GiB for mel",
		"Stage", "Transcription", "file 40 of 50", "20.0 GiB (125.0 % of the card)",
		"10 of 50 files fail")
	// 12 of 20 GiB take 12 / 20.4 of the width, because the scale leaves 2 % free.
	lacks(t, out.String(), `<rect x="0.000%" width="58.824%"`, "weights: 12.0 GiB")
	if bytes.Contains(out.Bytes(), []byte("speech<i>")) {
		t.Error("the name of a scenario became markup")
	}
}
