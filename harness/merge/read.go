package merge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/pool"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A judgedShard is what is kept of a shard that was judged, until it is merged.
type judgedShard struct {
	number int
	name   string // of its folder
	node   string // the machine that worked on it last
	nodes  []string
	report *check.Report
	level  float64 // of false alarms, for one of its series
	// complete is set if the log ends with the end of a run that did all its files. early is set if
	// --fail-fast ended the run, so that it meant not to start the rest of its files.
	complete, early bool
	ended           []int   // places in the batch of the files that ended
	failed          int     // files that did not end ok
	unstarted       int     // files of the share that did not begin; 0 if not known
	warned          bool    // the pipeline printed something to judge the ends of files by
	seconds         float64 // sum over the files
	older           []string
}

// workersMost is how many shards are read at the same time.
const workersMost = 8

// results yields the judged shards in their order. Several are judged at a time.
func (r *Run) results(policy check.Policy, dialects *parser.Set) func(
	yield func(*judgedShard, error) bool,
) {
	type result struct {
		shard *judgedShard
		err   error
	}
	return func(yield func(*judgedShard, error) bool) {
		workers := min(runtime.GOMAXPROCS(0), workersMost)
		queue := make(chan chan result, workers)
		busy, stop := make(chan struct{}, workers), make(chan struct{})
		defer close(stop)
		go func() {
			defer close(queue)
			for i := range r.shards {
				to := make(chan result, 1)
				select {
				case queue <- to:
				case <-stop:
					return
				}
				busy <- struct{}{}
				go func() {
					s, err := r.shards[i].judge(policy, dialects, r.Measures)
					<-busy
					to <- result{s, err}
				}()
			}
		}()
		for from := range queue {
			if res := <-from; !yield(res.shard, res.err) {
				return
			}
		}
	}
}

// judge reads a shard's logs and judges them by themselves.
func (o *opened) judge(policy check.Policy, dialects *parser.Set, measures bool,
) (*judgedShard, error) {
	policy.Waive, policy.Require = nil, nil // these are about the whole run
	j := check.New(policy)
	j.Measures = measures
	single, _ := pool.Levels(1, o.start.Shards, min(1, o.start.Shards-1))
	j.Share = single
	b := &parser.Builder{Dialects: dialects}
	b.Done = func(f *timeline.File) { j.Add(f) }
	for _, l := range o.Logs {
		if err := readLog(b, l); err != nil {
			return nil, err
		}
	}
	tl := b.Timeline()
	s := &judgedShard{
		number: o.start.Shard, name: o.Name, report: j.Report(tl), warned: tl.Words > 0,
	}
	s.level = single * s.report.Level / float64(max(1, s.report.Series))
	s.notePlaces(tl)
	s.noteEnds(tl)
	s.noteOwners(tl)
	return s, s.noteOlder(tl, o.Older)
}

func readLog(b *parser.Builder, l Log) error {
	log, err := l.Open()
	if err != nil {
		return err
	}
	err = b.Read(log, l.Name)
	return errors.Join(err, log.Close())
}

// notePlaces notes which files of the batch ended.
func (s *judgedShard) notePlaces(tl *timeline.Timeline) {
	begun, files := 0, 0
	for _, run := range tl.Runs {
		files = max(files, run.Start.Files)
	}
	for _, f := range tl.LastAttempts() {
		if f.Index == 0 {
			continue
		}
		begun++
		s.seconds += f.Seconds
		if f.Status == record.StatusUnknown {
			continue
		}
		s.ended = append(s.ended, f.Index)
		if f.Status != record.StatusOK {
			s.failed++
		}
	}
	s.unstarted = max(0, files-begun)
}

// noteEnds notes whether all workers of the shard came to the end of their run. A worker without a
// log did not.
func (s *judgedShard) noteEnds(tl *timeline.Timeline) {
	workers := 1
	ends, early := 0, false
	for i := range tl.Runs {
		run := &tl.Runs[i]
		workers = max(workers, run.Start.Workers)
		switch {
		case run.End == nil:
		case run.End.Reason == harness.ReasonDone:
			ends++
		case run.End.Reason == harness.ReasonFailFast:
			ends, early = ends+1, true
		}
	}
	s.complete, s.early = ends == len(tl.Runs) && ends >= workers, early
}

// noteOwners notes the machines that worked on the shard.
func (s *judgedShard) noteOwners(tl *timeline.Timeline) {
	add := func(o record.Owner) {
		if o.Node == "" {
			return
		}
		s.node = o.Node
		if !slices.Contains(s.nodes, o.Node) {
			s.nodes = append(s.nodes, o.Node)
		}
	}
	for i := range tl.Runs {
		add(tl.Runs[i].Start.Owner)
		for _, r := range tl.Runs[i].Resumes {
			add(r.Owner)
		}
	}
}

// noteOlder notes the lines that a task wrote after a later lease had taken over its log.
func (s *judgedShard) noteOlder(tl *timeline.Timeline, older []OlderLog) error {
	owners := map[int]string{} // nodes by lease
	var resumes []record.Resume
	for i := range tl.Runs {
		owners[tl.Runs[i].Start.Lease] = tl.Runs[i].Start.Node
		for _, r := range tl.Runs[i].Resumes {
			owners[r.Lease] = r.Node
			resumes = append(resumes, r)
		}
	}
	for _, o := range older {
		next := slices.IndexFunc(resumes, func(r record.Resume) bool { return r.Lease > o.Lease })
		if next < 0 {
			continue
		}
		copied := resumes[next].After + resumes[next].Cut
		if o.Size <= copied {
			continue
		}
		lines, err := linesAfter(o, copied)
		if err != nil {
			return err
		}
		came := " and are ignored"
		if lines == 1 {
			came = " and is ignored"
		}
		s.older = append(s.older, fmt.Sprintf("shard %d: %s of %s came after %s had taken over,%s",
			s.number, check.Plural(lines, "line"), lease(o.Lease, owners[o.Lease]),
			lease(resumes[next].Lease, resumes[next].Node), came))
	}
	return nil
}

func lease(n int, node string) string {
	if node == "" {
		return fmt.Sprintf("lease %d", n)
	}
	return fmt.Sprintf("lease %d (node %s)", n, node)
}

// linesAfter returns the number of lines of a log after an offset. A part of a line counts as one.
func linesAfter(o OlderLog, offset int64) (lines int, err error) {
	log, err := o.From(offset)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }() // only read
	buf := make([]byte, 64<<10)
	last := byte('\n')
	for {
		n, err := log.Read(buf)
		if lines += bytes.Count(buf[:n], []byte{'\n'}); n > 0 {
			last = buf[n-1]
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", o.Name, err)
		}
	}
	if last != '\n' {
		lines++
	}
	return lines, nil
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
