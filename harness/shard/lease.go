package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"vramsoak/parser/bounded"
	"vramsoak/parser/record"
)

// A scheduler may start a task again although the first one still runs: its node did not answer
// for a while, or a pod was counted as lost. Both tasks then work on the same shard. So that their
// evidence never mixes, each task takes a lease, which is a number that grows (Kleppmann, "How to
// do distributed locking", 2016, calls it a fencing token). The task with the highest number owns
// the shard. Each task writes a log of its own, which begins with a copy of the log of the lease
// before. What an older task still writes is in a log that no longer counts.
//
// Taking a lease is the exclusive creation of a file, which network file systems support too. No
// lock is needed.

// A Lease is the right of a task to write the evidence of a shard.
type Lease struct {
	Number int
	folder string
}

// A LeaseInfo is the content of a lease's file or object, for people and messages.
type LeaseInfo struct {
	Number int       `json:"lease"` // from 1
	Node   string    `json:"node"`
	PID    int       `json:"pid"`
	Time   time.Time `json:"time"`
}

// NewLeaseInfo returns what a lease of this process says.
func NewLeaseInfo(number int, node string, now time.Time) LeaseInfo {
	return LeaseInfo{number, node, os.Getpid(), now.UTC().Truncate(time.Millisecond)}
}

// TakenOver returns the error for the task with the lease number mine, whose shard the task with
// this lease has. It wraps [ErrTakenOver].
func (i LeaseInfo) TakenOver(mine int) error {
	by := ""
	if i.Node != "" {
		by = fmt.Sprintf(" on node %s at %s", i.Node, i.Time.Format(time.TimeOnly))
	}
	return fmt.Errorf("%w: lease %d was taken%s; what this task (lease %d) writes no longer counts, "+
		"so it ends", ErrTakenOver, i.Number, by, mine)
}

// LeasePrefix begins the names of leases in a shard.
const LeasePrefix = "lease-"

// LeaseName returns the name of a lease in its shard: "lease-000002".
func LeaseName(number int) string { return fmt.Sprintf("%s%06d", LeasePrefix, number) }

// LeaseNumber returns the number of the lease with this name, or 0 if it is not the name that
// [LeaseName] gives to a lease.
func LeaseNumber(name string) int {
	digits, ok := strings.CutPrefix(name, LeasePrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || name != LeaseName(n) {
		return 0
	}
	return n
}

// Take takes the next lease of the shard in a folder, for a task on this node.
func Take(folder, node string, now time.Time) (*Lease, error) {
	last, err := lastLease(folder)
	if err != nil {
		return nil, fmt.Errorf("taking a lease: %w", err)
	}
	for number := last + 1; ; number++ {
		f, err := os.OpenFile(filepath.Join(folder, LeaseName(number)),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // another task was faster
		}
		if err != nil {
			return nil, fmt.Errorf("taking a lease: %w", err)
		}
		err = json.NewEncoder(f).Encode(NewLeaseInfo(number, node, now))
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return nil, fmt.Errorf("taking a lease: %w", err)
		}
		return &Lease{number, folder}, nil
	}
}

// lastLease returns the highest number of a lease in a folder, or 0.
func lastLease(folder string) (last int, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		last = max(last, LeaseNumber(e.Name()))
	}
	return last, err
}

// ErrTakenOver is wrapped in the error of [Lease.Check] if a later task owns the shard.
var ErrTakenOver = errors.New("another task has taken over this shard")

// Check returns an error if another task has taken over the shard. Leases are numbered without
// gaps, so the next number is enough to look for.
func (l *Lease) Check() error {
	next := filepath.Join(l.folder, LeaseName(l.Number+1))
	if _, err := os.Stat(next); err != nil {
		return nil // it does not exist, or the file system fails for now
	}
	info := LeaseInfo{}
	text, err := bounded.ReadFile(next, 1<<16)
	if err != nil || json.Unmarshal(text, &info) != nil {
		info = LeaseInfo{} // the other task has not written it yet
	}
	info.Number = l.Number + 1
	return info.TakenOver(l.Number)
}

// Owner returns the owner of the shard as its log names it.
func (l *Lease) Owner(node string) record.Owner {
	return record.Owner{Lease: l.Number, Node: node}
}
