package sample

import (
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A budget limits the processor time of a task to a share of the time that passes.
type budget struct {
	mu    sync.Mutex
	first time.Time
	spent time.Duration
}

const (
	// budgetShare is the part of a core that the task may take in the long run.
	budgetShare = 0.003
	// budgetFirst is the time that it may take at once, so that a short run is read at all its files:
	// 60 files of a pipeline with 12 processes need about 0.8 s.
	budgetFirst = time.Second
)

// spend does the task, unless the budget is used up, and reports whether it did.
func (b *budget) spend(task func()) (done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.first.IsZero() {
		b.first = now
	}
	if float64(b.spent) >= float64(budgetFirst)+budgetShare*float64(now.Sub(b.first)) {
		return false
	}
	runtime.LockOSThread() // the processor time is that of a thread
	defer runtime.UnlockOSThread()
	began := threadTime()
	task()
	b.spent += threadTime() - began
	return true
}

// threadTime returns the processor time that this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// A spread limits a task that may run after each file by a budget. If the budget does not suffice
// for all files, the task runs after every second or third one, and so on, so that the files are
// spread over the batch.
type spread struct {
	budget

	turn   sync.Mutex
	seen   int // files so far
	passed int // files since the task ran
	ran    int
}

// skip counts a file after which the task cannot run.
func (s *spread) skip() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.seen++
	s.passed++
}

// after does the task after a file, unless it is not the file's turn or the budget is used up, and
// reports whether it did. The parameter planned is the number of files in the batch, or 0 if it is
// not known.
func (s *spread) after(planned int, task func()) (done bool) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.seen++
	s.passed++
	if float64(s.passed) < s.stride(planned, time.Now()) {
		return false
	}
	if done = s.spend(task); done {
		s.passed = 0
		s.ran++
	}
	return done
}

// growingGaps decides how fast the gaps between files grow if their number is not known: after n
// files, the gap is the time for growingGaps * n readings, in seconds of the first share. With a
// share of 1 s, it lasts for about 1,200 files if a reading takes 13 ms, and for 8,000 if it takes
// 2 ms.
const growingGaps = 5

// stride returns after how many files the task should run again, so that the budget lasts for the
// files that are left. If their number is not known, the gaps between files grow.
func (s *spread) stride(planned int, now time.Time) float64 {
	if s.ran == 0 {
		return 1
	}
	cost := s.spent.Seconds() / float64(s.ran)
	left := float64(planned - s.seen + 1)
	if left < 1 {
		return math.Ceil(growingGaps * float64(s.seen) * cost / budgetFirst.Seconds())
	}
	elapsed := now.Sub(s.first).Seconds()
	room := budgetFirst.Seconds() + budgetShare*elapsed*(1+left/float64(s.seen)) - s.spent.Seconds()
	if room <= 0 {
		return math.Inf(1)
	}
	return math.Ceil(left * cost / room)
}
