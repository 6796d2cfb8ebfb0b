package harness

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/pipeline/meter"
)

// settleTime is how long the processes that a pipeline leaves behind may take to end by themselves, as helpers do that see
// their pipe close, before they are called left behind. The grace limits it.
const settleTime = time.Second

// newcomers is how many times it is looked again for processes that those which are ended start in the meantime.
const newcomers = 3

// A family is one process that the harness started and whatever that one started, directly or not: what is in its process
// group, what carries the run's mark in its environment, what was seen among its descendants, and the children of those. A
// daemon leaves the group, and its parent; it does not lose the mark.
type family struct {
	run           string // id
	settle, grace time.Duration
	// reaper says that the descendants whose parents end become this process's children; alone, that it has no others but
	// those that it started.
	reaper, alone bool
	others        *others

	mu   sync.Mutex
	seen map[int]proc // descendants of the leader
	// alive are those that were found last; next is when they are looked for again.
	alive []int
	next  time.Time
}

func (r *run) newFamily() *family {
	return &family{
		run: r.id, settle: r.cfg.settle, grace: r.cfg.Grace, reaper: r.reaper, alone: r.alone && r.reaper, others: r.others,
		seen: map[int]proc{},
	}
}

// others are processes that are none of a run's, as far as can be told.
type others struct {
	mu   sync.Mutex
	born map[int]uint64 // by number
}

func (o *others) has(p proc) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	born, known := o.born[p.pid]
	return known && born == p.born
}

func (o *others) add(p proc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.born == nil {
		o.born = map[int]uint64{}
	}
	o.born[p.pid] = p.born
}

// children are the processes that the package has started and waits for. The lock is held where one starts, so that none
// can be seen that is not in it.
var children = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// started says that the package has started the process.
func started(pid int) bool {
	children.Lock()
	defer children.Unlock()
	return children.pids[pid]
}

// becomeReaper makes this process the parent of all descendants whose parent ends, if the kernel can.
func becomeReaper() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// A family is left alone searchShare times as long as the search for its members took, searchMax at most: a process may have
// hundreds of threads, each of which may have children, and the harness is to cost next to nothing.
const (
	searchShare = 250
	searchMax   = 2 * time.Second
)

// members are the leader and the rest of the family, of what left its parent only what has become this process's child. Of
// a large family they may be those of a moment ago.
func (f *family) members(leader int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if began := time.Now(); began.After(f.next) {
		f.alive = f.search(leader)
		now := time.Now()
		f.next = now.Add(min(searchShare*now.Sub(began), searchMax))
	}
	return f.alive
}

// search looks for the members.
func (f *family) search(leader int) []int {
	pids := meter.Tree(leader)
	for _, pid := range pids {
		if _, known := f.seen[pid]; !known {
			if p, ok := readProc(pid); ok {
				f.seen[pid] = p
			}
		}
	}
	if !f.reaper {
		return pids
	}
	for _, pid := range meter.Children(os.Getpid()) {
		if pid != leader && f.adopted(pid, f.seen[leader]) {
			pids = append(pids, meter.Tree(pid)...)
		}
	}
	return pids
}

// adopted says that a child of this process is of the family. What was found out about one is not looked at again.
func (f *family) adopted(pid int, leader proc) bool {
	p, ok := readProc(pid)
	switch {
	case !ok || p.born < leader.born || f.others.has(p):
		return false
	case f.seen[pid].born == p.born:
		return true
	}
	ours, known := f.ours(p)
	switch {
	case ours:
		f.seen[pid] = p
	case known:
		f.others.add(p)
	}
	return ours
}

// left are the processes of the family that outlived its leader, which has ended and was not waited for yet.
// unsure are those that may be of it and have not begun their program yet: they have no environment.
func (f *family) left(leader proc) (left, unsure []proc) {
	var all []proc
	if f.reaper { // they are below this process
		for _, pid := range meter.Tree(os.Getpid()) {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	} else {
		all, _ = procs() // an error would have shown before
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	family := map[int]bool{}
	for _, p := range all {
		switch {
		case p.pid == leader.pid || p.pid == os.Getpid() || p.born < leader.born:
		case p.group == leader.pid, f.seen[p.pid].born == p.born:
			family[p.pid] = true
		default:
			ours, known := f.ours(p)
			family[p.pid] = ours
			if !known && p.state != 'Z' && !p.kernel && !f.others.has(p) {
				unsure = append(unsure, p)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if family[p.parent] && !family[p.pid] {
				family[p.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(p proc) bool { return !family[p.pid] || p.state == 'Z' || p.state == 'X' }), unsure
}

// ours says whether the process is of the run, and whether that is known: it carries its mark, or is a child of this process
// that can be nothing else.
func (f *family) ours(p proc) (ours, known bool) {
	if f.alone && p.parent == os.Getpid() && !started(p.pid) {
		return true, true
	}
	if !p.ours() {
		return false, true
	}
	values, known := p.environ(EnvRun)
	return values[0] == f.run, known
}

// end ends what outlived the leader, and says what that was and what of it still runs. When hurry is closed it waits no
// longer than it must.
func (f *family) end(leader proc, hurry <-chan struct{}) (left, running []Leftover) {
	over := time.After(f.settle)
	found, unsure := f.left(leader)
	for waiting := true; waiting && len(found)+len(unsure) > 0; {
		select {
		case <-time.After(lookAgain):
		case <-over:
			waiting = false
		case <-hurry:
			waiting = false
		}
		f.reap()
		found, unsure = f.left(leader)
	}
	for _, p := range unsure { // it was started without an environment; the next process's end does not wait for it again
		f.others.add(p)
	}
	for range newcomers {
		var fresh []Leftover
		for _, p := range found {
			if !slices.ContainsFunc(left, func(l Leftover) bool { return l.proc.pid == p.pid && l.proc.born == p.born }) {
				fresh = append(fresh, p.leftover(f.run))
			}
		}
		if len(fresh) == 0 {
			break
		}
		left = append(left, fresh...)
		running = append(running, end(fresh, f.grace, hurry)...)
		f.reap()
		found, _ = f.left(leader)
	}
	return left, running
}

// reap waits for the children that others left to this process and that have ended, so that they do not stay in the
// machine's table of processes. What the package started is waited for where it was started.
func (f *family) reap() {
	if !f.reaper {
		return
	}
	children.Lock()
	defer children.Unlock()
	for _, pid := range meter.Children(os.Getpid()) {
		if children.pids[pid] {
			continue
		}
		if p, ok := readProc(pid); ok && p.state == 'Z' && p.parent == os.Getpid() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // it has ended: there is something to wait for
		}
	}
}
