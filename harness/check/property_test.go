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
)

// TestFailureStaysFailure holds for every log of fixtures/check that fails: what is beside it, good logs before and after
// it or an idle device, makes it no better.
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
	supervised, bare := log("../../fixtures/check/supervised-clean.txtar"), log("../../fixtures/check/nineteen-checkpoints.txtar")
	idle := []byte(strings.Repeat("[GPU Memory] Idle: Allocated: 0.00GB | allocated=4096 device=7\n", 3))
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
			"an idle device beside it":            {slices.Concat(data, idle)},
		} {
			if got := judge(t, logs...).Verdict; got != check.Fail {
				t.Errorf("%s fails; with %s the verdict is %s", filepath.Base(path), name, got)
			}
		}
	}
	if failing < 10 {
		t.Errorf("only %d of %d cases fail: this proves little", failing, len(cases))
	}
}

// judge judges logs one after another by the defaults.
func judge(t *testing.T, logs ...[]byte) *check.Report {
	t.Helper()
	var records iter.Seq2[parser.Record, error] = func(yield func(parser.Record, error) bool) {
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
