//go:build !race

package parser

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser/timeline"
)

// TestManyProcessesFail: of any number of processes whose last allocation failed, those are kept that a
// fallback may still belong to.
func TestManyProcessesFail(t *testing.T) {
	t.Parallel()
	const n = 20 * timeline.FailingMax
	const failed = "[rank%d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, failed, i+1)
	}
	// The first of them failed long ago, the last but two did not.
	for _, rank := range []int{1, n - 1} {
		fmt.Fprintf(&log, "[rank%d]: Falling back to sequential extraction\n", rank)
	}
	b := &Builder{}
	for rec, err := range Read(strings.NewReader(log.String()), "a.log") {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(rec)
		if kept := len(b.Log.Failing); kept > timeline.FailingMax {
			t.Fatalf("line %d: the failures of %d processes are kept, expected at most %d", rec.At().Line, kept, timeline.FailingMax)
		}
	}
	var pardoned []int
	tl := b.Timeline()
	for f := range tl.InOrder() {
		for _, oom := range f.OOMs {
			if oom.Fallback {
				pardoned = append(pardoned, oom.Pos.Line)
			}
		}
	}
	if tl.Failures != n || len(pardoned) != 1 || pardoned[0] != n-1 {
		t.Errorf("%d failures, with a fallback in lines %v; expected %d, and line %d", tl.Failures, pardoned, n, n-1)
	}
}
