package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vramsoak/pipeline/allocator/trace"
)

// minimize finds a short trace on which the model and the oracle print different lines, and writes
// the trace to the file short. It starts from the trace at path, on which the outputs differ at the
// given operation. It deletes operations as long as a difference remains (Zeller's delta
// debugging), all operations on a block together.
func minimize(t *testing.T, s trace.Settings, path string, operation int, short string) {
	t.Helper()
	ops := readOps(t, path)
	if operation > 0 {
		ops = ops[:min(operation, len(ops))]
	}
	try := filepath.Join(t.TempDir(), "try.trace")
	differs := func(ops []trace.Op) bool {
		writeTrace(t, try, slices.Values(ops))
		_, _, err := differOnFile(s, try)
		return isDifference(err)
	}
	if !differs(ops) {
		t.Logf("%s: the difference cannot be reproduced", path)
		return
	}
	for {
		before := len(ops)
		ops = shrink(byBlock(ops), differs)
		single := make([][]trace.Op, 0, len(ops))
		for _, op := range ops {
			single = append(single, []trace.Op{op})
		}
		ops = shrink(single, differs)
		if len(ops) == before {
			break
		}
	}
	writeTrace(t, short, slices.Values(ops))
}

func isDifference(err error) bool {
	_, is := errors.AsType[*difference](err)
	return is
}

func readOps(t *testing.T, path string) []trace.Op {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	var ops []trace.Op
	for op, err := range trace.Read(file, path) {
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	return ops
}

// byBlock groups the operations by block. Each operation without a block is its own group.
func byBlock(ops []trace.Op) [][]trace.Op {
	var units [][]trace.Op
	of := map[uint64]int{}
	for _, op := range ops {
		switch op.Kind {
		case trace.Malloc:
			of[op.ID] = len(units)
			units = append(units, []trace.Op{op})
		case trace.Free, trace.RecordStream:
			if i, is := of[op.ID]; is {
				units[i] = append(units[i], op)
			}
		default:
			units = append(units, []trace.Op{op})
		}
	}
	return units
}

// shrink deletes units, many units at a time at first, as long as the remaining operations still
// give a difference. It returns the units that remain.
func shrink(units [][]trace.Op, differs func([]trace.Op) bool) []trace.Op {
	for size := max(1, len(units)/2); ; size /= 2 {
		for begin := 0; begin < len(units); {
			without := slices.Concat(units[:begin], units[min(begin+size, len(units)):])
			if differs(inOrder(without)) {
				units = without
			} else {
				begin += size
			}
		}
		if size <= 1 {
			return inOrder(units)
		}
	}
}

// inOrder returns the operations of units in the order of their lines.
func inOrder(units [][]trace.Op) []trace.Op {
	ops := slices.Concat(units...)
	slices.SortFunc(ops, func(a, b trace.Op) int { return a.Line - b.Line })
	return ops
}
