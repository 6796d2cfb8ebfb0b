package supervise

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/pipeline/meter"
)

// endRounds is how many times, at most, the harness searches for orphans of a process and kills
// them. It searches again because a process may start others while it ends.
const endRounds = 3

// A family is one process that the harness started, called the leader because it leads its own
// process group, and all its descendants. To the family belong the processes in the leader's
// process group, the processes with the run's id ([EnvRun]) in their environment, the processes
// that the harness once saw among the leader's descendants, and the children of all these. The
// environment counts because a daemon leaves the process group and its parent, but keeps the
// environment.
type family struct {
	*Supervisor

	mu   sync.Mutex
	seen map[int]proc // descendants of the leader, by PID
	// alive holds the PIDs that the last search found; next is the earliest time for another search.
	alive []int
	next  time.Time
}

func (s *Supervisor) newFamily() *family { return &family{Supervisor: s, seen: map[int]proc{}} }

// strangers lists processes that the harness has examined and that do not belong to the run, so
// that it need not examine them again.
type strangers struct {
	mu   sync.Mutex
	born map[int]uint64 // start times, by PID
}

func (s *strangers) has(p proc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	born, known := s.born[p.pid]
	return known && born == p.born
}

func (s *strangers) add(p proc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.born == nil {
		s.born = map[int]uint64{}
	}
	s.born[p.pid] = p.born
}

// children lists the processes that this package has started and still waits for. Its lock is held
// while a process starts, so that no process is visible in /proc before it is in the list.
var children = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// isChild reports whether this package started the process.
func isChild(pid int) bool {
	children.Lock()
	defer children.Unlock()
	return children.pids[pid]
}

// becomeReaper makes the kernel give orphans to the harness: when a descendant of the harness ends,
// its children become children of the harness. becomeReaper reports whether the kernel supports
// that.
func becomeReaper() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// The search for the descendants of a process takes time: a process may have hundreds of threads,
// each with children. So the next search waits searchPause times as long as the last search took,
// but at most searchMax.
const (
	searchPause = 250
	searchMax   = 2 * time.Second
)

// members returns the PIDs of the process with the PID leader and of its descendants. It misses a
// descendant whose parent has ended, unless the descendant became a child of the harness. If there
// are many descendants, the result may be up to searchMax old, because the search takes time.
func (f *family) members(leader int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().After(f.next) {
		f.searchAgain(leader)
	}
	return f.alive
}

// membersNow returns what members returns, but never an old result.
func (f *family) membersNow(leader int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.searchAgain(leader)
	return f.alive
}

// searchAgain sets f.alive and f.next.
func (f *family) searchAgain(leader int) {
	began := time.Now()
	f.alive = f.search(leader)
	now := time.Now()
	f.next = now.Add(min(searchPause*now.Sub(began), searchMax))
}

// search returns the PIDs of the process with the PID leader and of its descendants, as /proc shows
// them now.
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

// adopted reports whether the child pid of the harness descends from the process leader. The
// harness did not start that child: it became a child of the harness when its own parent ended.
// adopted remembers its answer.
func (f *family) adopted(pid int, leader proc) bool {
	p, ok := readProc(pid)
	switch {
	case !ok || p.born < leader.born || f.strangers.has(p):
		return false
	case f.seen[pid].born == p.born:
		return true
	}
	member, known := f.belongs(p)
	switch {
	case member:
		f.seen[pid] = p
	case known:
		f.strangers.add(p)
	}
	return member
}

// survivors returns in left the descendants of the process leader that still run after it has
// ended. The process leader must still be a zombie, so that no other process can have its PID. The
// result unsure lists processes that may be descendants too: their program has not started yet, so
// they have no environment that shows whether they are.
func (f *family) survivors(leader proc) (left, unsure []proc) {
	var all []proc
	if f.reaper { // orphans are descendants of the harness
		for _, pid := range meter.Tree(os.Getpid()) {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	} else {
		all, _ = readProcs() // wait has already read /proc
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
			member, known := f.belongs(p)
			family[p.pid] = member
			if !known && p.state != 'Z' && !p.kernel && !f.strangers.has(p) {
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
	return slices.DeleteFunc(all, func(p proc) bool {
		return !family[p.pid] || p.state == 'Z' || p.state == 'X'
	}), unsure
}

// belongs reports in member whether a process belongs to the run: it has the run's id in its
// environment. If the run is the only source of children of this program, each child that this
// package did not start belongs to the run too. known is false if the process has no environment
// yet, so that nobody can tell.
func (f *family) belongs(p proc) (member, known bool) {
	if f.sole && p.parent == os.Getpid() && !isChild(p.pid) {
		return true, true
	}
	if !p.reachable() {
		return false, true
	}
	values, known := p.environ(EnvRun)
	return values[0] == f.run, known
}

// end ends the orphans of a process, called the leader, that has itself ended. It first gives the
// orphans Options.SelfExit to exit by themselves, as helper processes do. Then it sends SIGTERM to
// the others and, after Options.Grace, SIGKILL. When hurry is closed, end skips both waits. It
// returns in left all orphans that did not exit by themselves, and in running those that still run
// after SIGKILL.
func (f *family) end(leader proc, hurry <-chan struct{}) (left, running []Orphan) {
	over := time.After(f.opts.SelfExit)
	found, unsure := f.survivors(leader)
	for waiting := true; waiting && len(found)+len(unsure) > 0; {
		select {
		case <-time.After(checkEvery):
		case <-over:
			waiting = false
		case <-hurry:
			waiting = false
		}
		f.reap()
		found, unsure = f.survivors(leader)
	}
	// The processes in unsure still have no environment. They are remembered as strangers to the run,
	// so that the end of the next process does not wait for them again.
	for _, p := range unsure {
		f.strangers.add(p)
	}
	for range endRounds {
		var fresh []Orphan
		for _, p := range found {
			if !slices.ContainsFunc(left, func(o Orphan) bool {
				return o.proc.pid == p.pid && o.proc.born == p.born
			}) {
				fresh = append(fresh, p.orphan(f.run))
			}
		}
		if len(fresh) == 0 {
			break
		}
		left = append(left, fresh...)
		running = append(running, killOrphans(fresh, f.opts.Grace, hurry)...)
		f.reap()
		found, _ = f.survivors(leader)
	}
	return left, running
}

// reap waits for the children of the harness that have ended and that this package did not start.
// Until somebody waits for them, they stay in the kernel's process table as zombies. They became
// children of the harness when their parent ended. For the processes that this package started,
// [Process.wait] waits.
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
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // returns at once: it has ended
		}
	}
}
