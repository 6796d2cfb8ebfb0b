package supervise

import (
	"fmt"
	"os"

	"vramsoak/parser/record"
)

// An Orphan is a process that has outlived the process that the harness started, or the harness
// itself.
type Orphan struct {
	PID     int
	Run     string // id of its run
	Command string // its command line, shortened
	RSS     int64  // resident bytes

	proc proc
}

// Same reports whether two orphans are one process.
func (o Orphan) Same(other Orphan) bool { return o.proc == other.proc }

// Record returns the log's line on the orphan.
func (o Orphan) Record(ended bool, head record.Header) record.Orphan {
	return record.Orphan{Header: head, PID: o.PID, Command: o.Command, RSS: o.RSS, Ended: ended}
}

// FindOrphans returns the processes that a harness left behind when it died: those of the run with
// this id, or of any run if it is "". They belong to this user and this PID namespace. It leaves
// out the processes of a harness that still runs, the calling process, and the ancestors of that.
func FindOrphans(run string) ([]Orphan, error) {
	all, err := readProcs()
	if err != nil {
		return nil, fmt.Errorf("looking for processes of an earlier run: %w", err)
	}
	living := map[string]bool{} // harnesses
	byPID := map[int]proc{}
	for _, p := range all {
		living[harnessMark(p)] = p.state != 'Z'
		byPID[p.pid] = p
	}
	for p, ok := byPID[os.Getpid()]; ok; p, ok = byPID[p.parent] {
		delete(byPID, p.pid)
	}
	var orphans []Orphan
	for _, p := range all {
		if _, ok := byPID[p.pid]; !ok || p.state == 'Z' || !p.reachable() {
			continue
		}
		mark, _ := p.environ(EnvRun, EnvHarness)
		if mark[0] != "" && (run == "" || run == mark[0]) && !living[mark[1]] {
			orphans = append(orphans, p.orphan(mark[0]))
		}
	}
	return orphans, nil
}
