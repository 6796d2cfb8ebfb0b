package main

import (
	"io"
	"runtime/debug"
	"sync/atomic"

	"vramsoak/parser"
)

// The garbage collector works harder once the program holds more than allowedPerByte times the bytes
// read, plus allowedFree. docs/limits.md promises 20 times: the difference is the margin for memory
// that is still in use and cannot be collected.
const (
	allowedPerByte = 10
	allowedFree    = 32 << 20 // bytes, besides the some 30 MiB of the program and its tables
)

// allowed is the bytes that this process has read of logs, or is about to read.
var allowed atomic.Int64

// allow raises the memory limit for a log that is about to be read. The size of a compressed log or
// of a stream does not tell how much text it gives: for it the limit is raised as it is read.
func allow(log *parser.Log) {
	size, known := log.Size()
	if !known {
		log.Reader = &allowing{Reader: log.Reader}
	}
	raise(size)
}

func raise(by int64) { debug.SetMemoryLimit(allowedFree + allowedPerByte*allowed.Add(by)) }

// allowing raises the memory limit as it is read.
type allowing struct {
	io.Reader
	pending int64 // bytes since it was raised
}

// allowedStep is how much is read between two limits. To set one stops the program for a moment.
const allowedStep = 1 << 20

func (a *allowing) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if a.pending += int64(n); a.pending >= allowedStep {
		raise(a.pending)
		a.pending = 0
	}
	return n, err
}
