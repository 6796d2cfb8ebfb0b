package supervise

import (
	"fmt"
	"os"

	"vramsoak/parser/record"
)

// An Orphan is a process of the pipeline that still runs although the process that the harness
// started, or the harness itself, has ended.
type Orphan struct {
	PID     int
	Run     string // id of its run
	Command string // its command line, shortened
	RSS     int64  // resident bytes

	proc proc
}

// Same reports whether o and other are the same process.
func (o Orphan) Same(other Orphan) bool { return o.proc == other.proc }

// Record returns the record that the harness writes to the log as an orphan line. Set ended if the
// orphan has ended.
func (o Orphan) Record(ended bool, head record.Header) record.Orphan {
	return record.Orphan{Header: head, PID: o.PID, Command: o.Command, RSS: o.RSS, Ended: ended}
}

// FindOrphans returns the processes that a harness left running when it died. It returns the
// processes of the run with the id run or, if run is "", of all runs, but only processes of this
// user and this PID namespace. It leaves out processes whose harness still runs, and the calling
// process and its ancestors.
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
