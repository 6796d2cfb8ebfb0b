package sample

import (
	"testing"
	"time"
)

// TestBudget: a task that has used up its first share waits until enough time has passed.
func TestBudget(t *testing.T) {
	t.Parallel()
	var b budget
	ran := 0
	busy := func() {
		ran++
		for sum, began := 0, threadTime(); threadTime()-began < budgetFirst/4; {
			sum++
		}
	}
	for range 20 {
		b.spend(busy)
	}
	// A task that begins within the budget may end above it.
	if ran < 4 || ran > 5 {
		t.Errorf("the task ran %d times within its first share, want 4 or 5", ran)
	}
	share := budgetShare
	b.first = b.first.Add(-time.Duration(float64(budgetFirst) / share))
	before := ran
	if b.spend(busy); ran != before+1 {
		t.Error("the task does not run again after enough time")
	}
	// A task that waits uses no processor time.
	b = budget{}
	for range 3 {
		b.spend(func() { time.Sleep(10 * time.Millisecond) })
	}
	if b.spent > 10*time.Millisecond {
		t.Errorf("three tasks that wait used %v", b.spent)
	}
}

// TestSpread: a task that the budget allows after 40 files only runs after files of the whole
// batch, whether its length is known or not.
func TestSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planned, files int
		most           int // files in turn that may be left out
	}{
		{30, 30, 0},
		{60, 60, 2},
		{200, 200, 8},
		{1000, 1000, 35},
		{0, 30, 3},
		{0, 60, 7},
		{0, 200, 25},
		{0, 1000, 250},
	} {
		var s spread
		missed, worst := 0, 0
		for range c.files {
			missed++
			if s.after(c.planned, func() {}) {
				missed = 0
				s.spent += budgetFirst / 40
			}
			worst = max(worst, missed)
		}
		if worst > c.most || s.spent > budgetFirst+budgetFirst/40 {
			t.Errorf("%d files of %d planned: %d in turn are left out, want at most %d; it took %v",
				c.files, c.planned, worst, c.most, s.spent)
		}
	}
}
