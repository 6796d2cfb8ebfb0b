package compare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// small is a baseline as WriteJSON writes it: each file and each metric in one line, numbers
// without exponents and without digits that mean nothing.
const small = `{
  "schema": "vramsoak.baseline/1",
  "run": {
    "started": "2026-11-20T02:00:00Z",
    "commit": "33395ed",
    "gpu": "NVIDIA A10",
    "command": [
      "python",
      "transcribe.py"
    ],
    "log": "runs/x/soak.log",
    "verdict": "pass"
  },
  "files": [
    {"path":"a.wav","index":1,"audio_seconds":10.25,"process":0},
    {"path":"b.wav","index":2,"process":1}
  ],
  "metrics": [
    {"name":"peak","unit":"bytes","rank":0,"device":0,"resolution":5368709,"values":[7763153388,1099511627776]},
    {"name":"recovery of Whisper Cleanup","unit":"ratio","rank":1,"device":2,"higher_is_better":true,"values":[0.974938,null]},
    {"name":"seconds a file","unit":"seconds","rank":0,"device":0,"values":[0.000002,12.5]}
  ]
}
`

func TestBaseline(t *testing.T) {
	want := compare.New(check.Measurements{
		Files: []check.MeasuredFile{
			{Path: "a.wav", Index: 1, AudioSeconds: 10.25},
			{Path: "b.wav", Index: 2, Process: 1},
		},
		Metrics: []check.Metric{
			{
				Name: "peak", Unit: check.Bytes, Resolution: 5368709,
				Values: check.Values{7763153388.25, 1 << 40},
			},
			{
				Name: "recovery of Whisper Cleanup", Unit: check.Ratio, Rank: 1, Device: 2,
				HigherIsBetter: true,
				Values:         check.Values{0.9749384719, math.NaN()},
			},
			{Name: "seconds a file", Unit: check.Seconds, Values: check.Values{0.000002, 12.5}},
		},
	}, compare.RunInfo{
		Started: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), Commit: "33395ed", GPU: "NVIDIA A10",
		Command: []string{"python", "transcribe.py"}, Log: "runs/x/soak.log", Verdict: check.Pass,
	})
	var out bytes.Buffer
	if err := want.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small, out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	got, err := compare.ReadBaseline(&out, "b.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// TestSavedIsTheSame: a run equals its saved baseline.
func TestSavedIsTheSame(t *testing.T) {
	metric := recovery
	base := run(metric, 20, func(i int) float64 { return 1 / (1.01 + float64(i)/300) })
	var out bytes.Buffer
	if err := base.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	saved, err := compare.ReadBaseline(&out, "b.json")
	if err != nil {
		t.Fatal(err)
	}
	policy := defaults()
	policy.Exact = true
	if got := compare.Compare(saved, base, policy).Changes[0]; got.Message != "the same in 20 files" {
		t.Errorf("got %+v", got)
	}
}

// TestReadBaselineErrors: each error gives its line and column, and says what was expected there.
func TestReadBaselineErrors(t *testing.T) {
	change := func(this, to string) string { return strings.Replace(small, this, to, 1) }
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", "b.json:1:1: expected JSON: unexpected end of JSON input"},
		{"cut off", small[:100], `b.json:5:13: expected JSON: unexpected end of JSON input`},
		{
			"a log", "[GPU Memory] Start",
			"b.json:1:2: expected JSON: invalid character 'G' looking for beginning of value",
		},
		{
			"other JSON", "[]",
			`b.json:1:1: expected a baseline, an object with "schema": "vramsoak.baseline/1", found ` +
				`none; vramsoak baseline save makes one`,
		},
		{
			"another version", change("line/1", "line/2"),
			`b.json:2:3: expected the schema "vramsoak.baseline/1", found "vramsoak.baseline/2"; ` +
				`save the baseline again from its run with this vramsoak: vramsoak baseline save`,
		},
		{
			"an unknown key", change(`"files"`, `"filse"`),
			`b.json:14:3: expected one of the keys schema, run, files, failed, metrics, each once, found ` +
				`"filse"`,
		},
		{
			"an unknown key of a metric", change(`"rank"`, `"rang"`),
			`b.json:19:5: expected a metric such as ` +
				`{"name":"peak","unit":"bytes","values":[1073741824]}: unknown field "rang"`,
		},
		{
			"a word for a number", change(`"index":2`, `"index":"two"`),
			`b.json:16:5: expected a file such as {"path":"a.wav","index":1,"process":0}: ` +
				`cannot unmarshal string into Go struct field MeasuredFile.index of type int`,
		},
		{
			"too few values", change(",12.5]", "]"),
			`b.json:21:5: expected a value for each of the 2 files of the metric "seconds a file", found 1`,
		},
		{
			"an unknown unit", change(`"seconds",`, `"fortnights",`),
			`b.json:21:5: expected a metric with the unit bytes, count, ratio, seconds or x real time, ` +
				`found "fortnights"`,
		},
		{
			"too many bytes", change("7763153388", "7e30"),
			"b.json:19:5: expected numbers of less than 2^62, found 7e+30",
		},
		{
			"no name", change(`"peak"`, `""`),
			"b.json:19:5: expected a metric with a name and a resolution of 0 or more",
		},
		{"a path that is not a file", change(`"values":[7763153388,1099511627776]`,
			`"places":[2],"values":[1]`), placesOf("peak")},
		{"places that fall", change(`"values":[7763153388,1099511627776]`,
			`"places":[1,0],"values":[1,2]`), placesOf("peak")},
		{"a place without a value", change(`"values":[7763153388,1099511627776]`,
			`"places":[0,1],"values":[1]`), placesOf("peak")},
		{
			"no list", change(`"metrics": [`, `"metrics": {"a": [`) + "}",
			"b.json:18:14: expected a list of metrics",
		},
		{
			"files are no list", `{"schema": "vramsoak.baseline/1", "files": 3}`,
			"b.json:1:44: expected a list of files",
		},
	} {
		_, err := compare.ReadBaseline(strings.NewReader(c.src), "b.json")
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func placesOf(metric string) string {
	return fmt.Sprintf(`b.json:19:5: expected places of the metric %q that rise from 0 to less `+
		`than 2, the number of files, `+
		`and a value for each`, metric)
}

// TestSparseBaseline: a metric that only few files have is saved with the indexes of these files,
// and reading it gives the same metric.
func TestSparseBaseline(t *testing.T) {
	t.Parallel()
	m := check.Measurements{Files: make([]check.MeasuredFile, 100)}
	m.Metrics = []check.Metric{{
		Name: "peak", Unit: check.Bytes, Places: []int32{3, 97},
		Values: check.Values{1 << 30, 5},
	}}
	want := compare.New(m, compare.RunInfo{})
	var out bytes.Buffer
	if err := want.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	const line = `{"name":"peak","unit":"bytes","rank":0,"device":0,"places":[3,97],"values":[1073741824,5]}`
	if !strings.Contains(out.String(), line) {
		t.Errorf("got\n%s\nwant in it\n%s", out.String(), line)
	}
	got, err := compare.ReadBaseline(&out, "b.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`{"schema":"vramsoak.baseline/1","files":[{}],"metrics":[{"name":"x","unit":"seconds","values":[1e-300]}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := compare.ReadBaseline(bytes.NewReader(src), "b.json")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "b.json:") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		turned := compare.New(b.Measurements, b.Run)
		for _, m := range turned.Metrics {
			slices.Reverse(m.Values)
		}
		if len(b.Files) < 100 { // to be quick
			if _, err := json.Marshal(compare.Compare(b, turned, defaults())); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := b.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := compare.ReadBaseline(&out, "again.json"); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, src)
		}
	})
}
