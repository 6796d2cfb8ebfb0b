package timeline

import (
	"fmt"
	"testing"

	"vramsoak/parser/record"
)

// TestManyProcessesFail: allocations fail in more processes than the builder keeps. It drops only
// failures that are too far away for a fallback.
func TestManyProcessesFail(t *testing.T) {
	t.Parallel()
	const n = 20 * maxFailing
	line := 0
	head := func() record.Header {
		line++
		return record.Header{Pos: record.Position{Path: "a.log", Line: line}}
	}
	var b Builder
	for i := range n {
		b.Add(record.OutOfMemory{
			Header: head(), Speaker: fmt.Sprintf("rank%d", i+1),
			Text: "CUDA out of memory.",
		})
		if kept := len(b.log.failing); kept > maxFailing {
			t.Fatalf("line %d: keeps failures of %d processes, want at most %d", line, kept,
				maxFailing)
		}
	}
	// A fallback of rank 1 comes too late for its failure; the fallback of rank n-1 does not.
	for _, rank := range []int{1, n - 1} {
		b.Add(record.Event{
			Header: head(), Kind: record.EventFallback,
			Speaker: fmt.Sprintf("rank%d", rank),
		})
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
		t.Errorf("%d failures, with a fallback in lines %v; expected %d, and line %d", tl.Failures,
			pardoned, n, n-1)
	}
}
