package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/queue"
	"vramsoak/harness/shard"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// shardsPerNode is how many shards of a simulated run are on one node.
const shardsPerNode = 8

// checkShards returns an error if the flags for shards are given with others that they exclude, or
// alone.
func (o *simulateOptions) checkShards() error {
	switch {
	case o.shards == 0 && o.out == "":
		return nil
	case o.shards == 0:
		return errors.New("--out: expected --shards too; without shards, standard output has the log")
	case o.out == "":
		return errors.New("--shards: expected --out FOLDER too, the folder for the shards' logs")
	case o.shards > shard.Max:
		return fmt.Errorf("--shards: expected at most %d, found %d", shard.Max, o.shards)
	case o.stdin || o.trace != "":
		return errors.New("--shards: expected neither --stdin nor --trace with it")
	}
	return nil
}

// simulateShards simulates each shard of a batch and writes the logs into the folder that opts
// names, as the tasks of an array would.
func simulateShards(diagnostics io.Writer, s *scenario.Scenario, opts simulateOptions) error {
	if err := os.Mkdir(opts.out, 0o755); err != nil {
		return fmt.Errorf("--out: %w; give a folder that does not exist yet", err)
	}
	files := make([]queue.Input, cmp.Or(opts.files, s.Files.Count))
	for i := range files {
		files[i] = queue.Input{
			Path: fmt.Sprintf("%04d.wav", i+1), AudioSeconds: s.Files.Length(i + 1),
		}
	}
	run := shardedRun{
		scenario: s, files: files, segments: opts.segments, dir: opts.out,
		share: record.Share{
			Shards: opts.shards, Of: len(files),
			Batch: shard.Plan{Files: files, Shards: opts.shards, Repeat: 1}.Digest(),
		},
	}
	shares := shard.Split(files, opts.shards)
	var next, failed int // shard to simulate next; number of failed files
	var first error
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), opts.shards) {
		workers.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < len(shares) && first == nil {
				n := next
				next++
				mu.Unlock()
				bad, err := run.simulate(n+1, shares[n])
				mu.Lock()
				failed += bad
				first = cmp.Or(first, err)
			}
		})
	}
	workers.Wait()
	if first == nil {
		_, _ = sink.Fprintf(diagnostics, "%s in %s, %d failed; see vramsoak check %s\n",
			wording.Plural(len(files), "file"), wording.Plural(opts.shards, "shard"), failed,
			sink.Shell(opts.out))
	}
	return first
}

// A shardedRun is a simulated run of several shards.
type shardedRun struct {
	scenario *scenario.Scenario
	files    []queue.Input // of the whole batch
	share    record.Share  // without the shard and its owner
	segments bool
	dir      string
}

// simulate writes the log of a shard, and returns how many of its files failed.
func (r *shardedRun) simulate(n int, mine []int32) (failed int, err error) {
	dir := filepath.Join(r.dir, shard.Folder(n))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, fmt.Errorf("--out: %w", err)
	}
	path := filepath.Join(dir, harness.LogName)
	err = writeFile(path, func(w io.Writer) error {
		l := &shardLog{w: bufio.NewWriterSize(w, 256<<10), files: r.files, left: mine}
		start := record.RunStart{
			Header: record.Header{Time: simulatedStart}, Files: len(mine), Feed: "stdin",
			Version: version(), Command: "vramsoak simulate " + r.scenario.Path,
			ID: fmt.Sprintf("%s-%d", r.share.Batch[:8], n), Share: r.share,
		}
		start.Shard = n
		start.Owner = record.Owner{Lease: 1, Node: fmt.Sprintf("n%d", (n-1)/shardsPerNode+1)}
		l.line(start.AppendLine)
		err := l.work(r.scenario, r.segments)
		failed = l.failed
		return errors.Join(err, l.w.Flush())
	})
	return failed, err
}

// simulatedStart is the time at which simulated runs begin.
var simulatedStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A shardLog writes the log of a shard. It gets the simulated pipeline's lines, one in each Write,
// and adds the lines of the harness.
type shardLog struct {
	w       *bufio.Writer
	files   []queue.Input // of the whole batch
	left    []int32       // indices of the files that the shard has not begun
	current int           // index of the present file, from 1; 0 between files
	now     time.Time     // of the last line
	began   time.Time     // when the process began
	failed  int
	buf     []byte
}

func (l *shardLog) line(appendLine func([]byte) []byte) {
	l.buf = append(appendLine(l.buf[:0]), '\n')
	_, _ = l.w.Write(l.buf) // an error comes again with Flush
}

func (l *shardLog) head() record.Header { return record.Header{Time: l.now} }

// work simulates processes until all files are done. A crash ends a process, and the next one goes
// on with the next file, as in a soak.
func (l *shardLog) work(s *scenario.Scenario, segments bool) error {
	l.now = simulatedStart
	const pid = 1000
	files, crashes := len(l.left), 0
	for process := 0; ; process++ {
		l.began = l.now
		_, err := simulator.Run(s, simulator.Options{
			Log: l, Segments: segments, EndAtCrash: true, Source: l.source,
			Clock: func(seconds float64) time.Time {
				return l.began.Add(time.Duration(seconds * float64(time.Second)))
			},
		})
		exit := record.Exit{Header: l.head(), PID: pid + process}
		if errors.Is(err, simulator.ErrCrashed) {
			crashes++
			exit.Code, exit.Signal, exit.Restarts = -1, "SIGKILL", crashes
			l.endFile(record.StatusCrashed, 0, "killed by SIGKILL")
		} else if err != nil {
			return err
		}
		l.line(exit.AppendLine)
		if exit.Signal == "" || len(l.left) == 0 {
			break
		}
	}
	l.line(record.RunEnd{
		Header: l.head(), Files: files, Seconds: l.now.Sub(simulatedStart).Seconds(),
		Reason: harness.ReasonDone,
	}.AppendLine)
	return nil
}

// source yields the files that the shard has not begun.
func (l *shardLog) source(yield func(simulator.File, error) bool) {
	for len(l.left) > 0 {
		i := int(l.left[0])
		l.left = l.left[1:]
		l.current = i + 1
		if !yield(simulator.File{
			Path: l.files[i].Path, Seconds: l.files[i].AudioSeconds, Number: l.current,
		}, nil) {
			return
		}
	}
}

var (
	fileStart = []byte(record.ProtocolPrefix + " file-start ")
	fileEnd   = []byte(record.ProtocolPrefix + " file-end ")
)

// Write implements [io.Writer]. The harness's file-start line comes before the pipeline's, and its
// file-end line after the pipeline's.
func (l *shardLog) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, fileStart) {
		f := record.FileStart{
			Index: l.current, Path: l.files[l.current-1].Path,
			AudioSeconds: l.files[l.current-1].AudioSeconds,
		}
		for _, rec := range (*parser.Set)(nil).ParseLine(line, record.Position{}) {
			if start, ok := rec.(record.FileStart); ok {
				l.now = start.Time
			}
		}
		f.Header = l.head()
		l.line(f.AppendLine)
	}
	_, err := l.w.Write(line)
	if bytes.HasPrefix(line, fileEnd) {
		for _, rec := range (*parser.Set)(nil).ParseLine(line, record.Position{}) {
			if end, ok := rec.(record.FileEnd); ok {
				l.now = end.Time
				l.endFile(end.Status, end.Seconds, end.Error)
			}
		}
	}
	return len(line), err
}

func (l *shardLog) endFile(status record.Status, seconds float64, why string) {
	if l.current == 0 {
		return
	}
	if status != record.StatusOK {
		l.failed++
	}
	l.line(record.FileEnd{
		Header: l.head(), Index: l.current, Path: l.files[l.current-1].Path, Status: status,
		Seconds: seconds, Error: why,
	}.AppendLine)
	l.current = 0
}
