package main

import (
	"bufio"
	"fmt"
	"os"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/reports/sink"
)

// processTraces write what a simulation's allocator is asked for, as traces for vramsoak replay: a trace is of one process, so the
// second one's is in PATH.2 and so on.
type processTraces struct {
	path      string
	processes int
	file      *os.File
	w         *bufio.Writer
	line      []byte
	err       error // the first
}

// begin begins the trace of a process.
func (t *processTraces) begin(conf string, card allocator.DeviceConfig) func(trace.Op) {
	_ = t.end() // an error comes again at the end
	t.processes++
	path := t.path
	if t.processes > 1 {
		path = fmt.Sprintf("%s.%d", t.path, t.processes)
	}
	f, err := os.Create(path)
	if err != nil {
		t.failed(err)
		return nil
	}
	t.file, t.w = f, bufio.NewWriterSize(f, 64<<10)
	_, _ = fmt.Fprintf(t.w, "# vramsoak replay %s --capacity %d --overhead %d --conf %s\n", sink.Shell(path), card.Total,
		card.Overhead, sink.Shell(conf))
	return func(op trace.Op) {
		t.line = append(op.AppendTo(t.line[:0]), '\n')
		_, _ = t.w.Write(t.line) // an error comes again at the end
	}
}

// end ends the trace that was begun, and returns the first error of all.
func (t *processTraces) end() error {
	if t.file == nil {
		return t.err
	}
	t.failed(t.w.Flush())
	t.failed(t.file.Close())
	t.file = nil
	return t.err
}

func (t *processTraces) failed(err error) {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("writing the trace: %w", err)
	}
}
