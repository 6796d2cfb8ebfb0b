package main

import (
	"bytes"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"vramsoak/parser"
	"vramsoak/parser/source"
	"vramsoak/reports/html"
)

// A readOptions controls how logs are read.
type readOptions struct {
	// trends and measures are set to include these parts in a report: see [check.Judge].
	trends, measures bool
	// policy is the file with the user's dialects, or "" for the policy that [policyFor] finds.
	policy string
	// policyFlag is the flag that names the file, or "" for --policy.
	policyFlag string
	// dialect is the name of the only dialect to read, or "" for all dialects.
	dialect string
	// page collects the readings for an HTML page, or is nil.
	page *html.Collector
	// first is the first log, if it was opened to find the policy, else nil.
	first *peeked
}

// headMax is how many bytes of a log are searched for the harness's first line. This line contains
// the policy that the run was made with.
const headMax = 1 << 20

// open opens a log, and returns the dialects to read it in. It returns a stream as a [sniffer].
func (o readOptions) open(path string) (_ io.ReadCloser, d dialects, err error) {
	p := o.first.take(path)
	if p == nil {
		if p, err = peek(path, false); err != nil {
			return nil, dialects{}, err
		}
	}
	if d, err = o.dialects(p.head, displayName(path)); err != nil {
		_ = p.log.Close() // only read
		return nil, dialects{}, err
	}
	if path != "-" && !p.log.MayWait() {
		_ = p.log.Close() // only read
		again, err := parser.Open(path)
		if err == nil {
			allow(again)
		}
		return again, d, err
	}
	allow(p.log)
	return &sniffer{Log: p.log, all: io.MultiReader(bytes.NewReader(p.head), p.log)}, d, nil
}

// A peeked is an open log whose first bytes were read.
type peeked struct {
	path string
	log  *source.Log // nil after a call of take
	head []byte      // at most headMax bytes
}

// peek opens a log and reads its head. Of a stream it reads only the bytes that have arrived. If
// the parameter whole is set, it waits for as many bytes as it reads of a file.
func peek(path string, whole bool) (*peeked, error) {
	log, err := parser.Open(path)
	if err != nil {
		return nil, err
	}
	p := &peeked{path: path, log: log, head: make([]byte, headMax)}
	if log.MayWait() && !whole {
		p.head = firstOf(log, p.head)
	} else {
		n, _ := io.ReadFull(log, p.head) // an error comes again when the log is read
		p.head = p.head[:n]
	}
	return p, nil
}

// take returns a copy of p, which the caller must read and close. It returns nil if p is of another
// path or was taken before.
func (p *peeked) take(path string) *peeked {
	if p == nil || p.log == nil || p.path != path {
		return nil
	}
	taken := *p
	p.log = nil
	return &taken
}

// close closes the log, unless take was called.
func (p *peeked) close() {
	if p.log != nil {
		_ = p.log.Close() // only read
	}
}

// firstOf reads from a stream until it has the first line, which a program may still be writing. It
// returns all bytes that it got. The line may end with the carriage return of a progress bar.
func firstOf(r io.Reader, buf []byte) (head []byte) {
	for len(head) < len(buf) && !bytes.ContainsAny(head, "\r\n") {
		n, err := r.Read(buf[len(head):])
		if head = buf[:len(head)+n]; err != nil {
			break // the error comes again when the log is read
		}
	}
	return head
}

// headOf returns the beginning of a file. It does not open a stream: if it opened and closed a
// FIFO, the program that writes the FIFO would die of SIGPIPE.
func headOf(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	// An error comes again when the log is read.
	head, _ := io.ReadAll(io.LimitReader(file, headMax))
	return head, nil
}

// The garbage collector works harder if the program holds more than allowedPerByte times the bytes
// read, plus allowedFree. docs/reference/limits.md promises at most 20 times. The margin between
// the two is for memory in use, which cannot be collected.
const (
	allowedPerByte = 10
	allowedFree    = 32 << 20 // bytes, besides about 30 MiB for the program and its tables
)

// allowed is the number of bytes of logs that this process has read or is about to read.
var allowed atomic.Int64

// allow raises the memory limit for a log before it is read. For a compressed log or a stream, the
// size of the text is unknown, so the limit is raised step by step while it is read.
func allow(log *source.Log) {
	size, known := log.Size()
	if !known {
		log.Reader = &allowing{Reader: log.Reader}
	}
	raise(size)
}

func raise(by int64) { debug.SetMemoryLimit(allowedFree + allowedPerByte*allowed.Add(by)) }

// An allowing reader raises the memory limit as bytes are read through it.
type allowing struct {
	io.Reader
	pending int64 // bytes that were read since the limit was raised
}

// allowedStep is how many bytes are read between two raises of the limit. Each raise stops the
// program for a moment.
const allowedStep = 1 << 20

func (a *allowing) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if a.pending += int64(n); a.pending >= allowedStep {
		raise(a.pending)
		a.pending = 0
	}
	return n, err
}
