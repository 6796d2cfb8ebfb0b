package queue

import (
	"testing"

	"vramsoak/parser/record"
)

// TestFind: if the process was given a file of the name, Find returns that file, although other
// processes may have files with the same path.
func TestFind(t *testing.T) {
	t.Parallel()
	b := NewBatch([]Input{{Path: "x"}, {Path: "y"}, {Path: "x"}, {Path: "y"}, {Path: "z"}})
	find := func(name string, want int, fed ...int) {
		t.Helper()
		if got, _ := b.Find(name, fed); got != want {
			t.Errorf("%s of %v is %d, want %d", name, fed, got, want)
		}
	}
	find("x", 0, 0, 1)
	b.Begin(0)
	find("x", 0, 0, 1) // retried, though the next round's has not begun
	find("x", 2, 0, 1, 2, 3, 4)
	b.End(0, record.StatusCrashed)
	find("x", 2, 1, 2, 3, 4) // in the process after the crash
	find("z", 4, 0, 1)       // another process's
	b.Begin(2)
	b.End(2, record.StatusOK)
	find("x", 0, 0, 1, 2, 3, 4) // the one that failed
	find("x", 2, 2, 3)
	b.End(0, record.StatusOK)
	find("x", 2, 0, 1, 2, 3, 4)
	find("unheard of", None, 0, 1)
}
