package main

import (
	"math"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// The garbage collector works harder once the program holds more than allowedPerByte times the bytes
// read, plus allowedFree. docs/limits.md promises 20 times: the difference is the margin for memory
// that is still in use and cannot be collected.
const (
	allowedPerByte = 10
	allowedFree    = 32 << 20 // bytes, besides the some 30 MiB of the program and its tables
)

// allowed is the bytes of all files that this process has begun to read; unsized says that there
// are others.
var (
	allowed atomic.Int64
	unsized atomic.Bool
)

// allow raises the memory limit for files that are about to be read. The size of a compressed file
// or a stream does not tell how much text it gives: with one of them, memory is not bounded.
func allow(paths []string) {
	sum := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		packed := strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst")
		if err != nil || !info.Mode().IsRegular() || packed {
			unsized.Store(true)
			break
		}
		sum += info.Size()
	}
	if unsized.Load() {
		debug.SetMemoryLimit(math.MaxInt64)
		return
	}
	debug.SetMemoryLimit(allowedFree + allowedPerByte*allowed.Add(sum))
}
