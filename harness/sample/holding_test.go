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
