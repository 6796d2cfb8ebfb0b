package main

import (
	"io"
	"runtime/debug"
	"sync/atomic"

	"vramsoak/parser/source"
)

// The garbage collector works harder once the program holds more than allowedPerByte times the bytes
// read, plus allowedFree. docs/reference/limits.md promises 20 times: the difference is the margin for memory
// that is still in use and cannot be collected.
const (
	allowedPerByte = 10
	allowedFree    = 32 << 20 // bytes, besides the some 30 MiB of the program and its tables
)

// allowed is how many bytes of logs this process has read or is about to read.
var allowed atomic.Int64

// allow raises the memory limit for a log that is about to be read. The size of a compressed log or
// of a stream does not tell how much text it gives, so its limit is raised while it is read.
func allow(log *source.Log) {
	size, known := log.Size()
	if !known {
		log.Reader = &allowing{Reader: log.Reader}
	}
	raise(size)
}

func raise(by int64) { debug.SetMemoryLimit(allowedFree + allowedPerByte*allowed.Add(by)) }

// An allowing reader raises the memory limit while it is read.
type allowing struct {
	io.Reader
	pending int64 // bytes that were read since the limit was raised
}

// allowedStep is how many bytes are read before the limit is raised again. Raising it stops the
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
