package check_test

import (
	"bytes"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestFailureStaysFailure: a log of fixtures/check that fails still fails when good logs come
// before and after it, and when an idle device is added to it.
func TestFailureStaysFailure(t *testing.T) {
	cases, err := filepath.Glob("../../fixtures/check/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	log := func(path string) []byte {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "run.log" })
		return archive.Files[i].Data
	}
	supervised, bare := log("../../fixtures/check/supervised-clean.txtar"),
		log("../../fixtures/check/nineteen-checkpoints.txtar")
	idle := []byte(strings.Repeat("[GPU Memory] Idle: Allocated: 0.00GB | allocated=4096 device=7\n",
		3))
	failing := 0
	for _, path := range cases {
		data := log(path)
		if judge(t, data).Verdict != check.Fail {
			continue
		}
		failing++
		for name, logs := range map[string][][]byte{
			"a good run of the harness before it": {supervised, data},
			"a good run of the harness after it":  {data, supervised},
			"a good bare log before it":           {bare, data},
			"a good bare log after it":            {data, bare},
			"the log twice":                       {data, data},
			"with an idle device":                 {slices.Concat(data, idle)},
		} {
			if got := judge(t, logs...).Verdict; got != check.Fail {
				t.Errorf("%s fails, but with %s the verdict is %s", filepath.Base(path), name, got)
			}
		}
	}
	if failing < 10 {
		t.Errorf("only %d of %d cases fail: too few to prove the claim", failing, len(cases))
	}
}

// judge returns the report on logs that were written one after another, under the default policy.
func judge(t *testing.T, logs ...[]byte) *check.Report {
	t.Helper()
	var records iter.Seq2[record.Record, error] = func(yield func(record.Record, error) bool) {
		for _, log := range logs {
			for rec, err := range parser.Read(bytes.NewReader(log), "run.log") {
				if !yield(rec, err) {
					return
				}
			}
		}
	}
	tl, err := parser.Build(records)
	if err != nil {
		t.Fatal(err)
	}
	return check.Of(tl, check.DefaultPolicy())
}

// TestMeasuredAgreesWithVerdict: a program that reads verdict.json sees from a finding's measured
// value and its limit whether the finding failed. This holds for every log of fixtures/check, and
// for each beginning of such a log that ends before a line of the harness.
func TestMeasuredAgreesWithVerdict(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../fixtures/check/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	failed, passed := 0, 0
	for _, path := range cases {
		log, policy := caseOf(t, path)
		for end := range log {
			if log[end] != '\n' ||
				end+1 < len(log) && !bytes.HasPrefix(log[end+1:], []byte(record.HarnessPrefix)) {
				continue
			}
			for _, f := range check.Of(timelineOf(t, log[:end+1]), policy).Findings {
				if f.Measured == nil || f.Limit == nil || f.Verdict == check.Undecided {
					continue
				}
				within := *f.Measured <= *f.Limit
				if f.Check == check.Recovery || f.Check == check.DeviceRecovery {
					within = *f.Measured >= *f.Limit
				}
				if within != (f.Verdict == check.Pass) {
					t.Errorf("%s, up to line %d: %s of %s has verdict %s, measured %g and limit %g: %s",
						filepath.Base(path),
						bytes.Count(log[:end+1], []byte{'\n'}), f.Check, f.Subject, f.Verdict, *f.Measured, *f.Limit,
						f.Message)
				}
				if f.Verdict == check.Fail {
					failed++
				} else {
					passed++
				}
			}
		}
	}
	if failed < 100 || passed < 1000 {
		t.Errorf("only %d findings failed and %d passed: too few to prove the claim", failed, passed)
	}
}

// caseOf returns the log of a case and its policy.
func caseOf(t *testing.T, path string) (log []byte, policy check.Policy) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	policy = check.DefaultPolicy()
	for _, f := range archive.Files {
		switch f.Name {
		case "run.log":
			log = f.Data
		case "vramsoak.yaml":
			if policy, err = check.ParsePolicy(f.Data, f.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return log, policy
}

func timelineOf(t *testing.T, log []byte) *timeline.Timeline {
	t.Helper()
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	return tl
}
