package main

import (
	"math"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// What reading may take before the garbage collector works harder: so many times what has been read,
// and some more for the program itself. Readings alone stay below; docs/limits.md allows 20 times, and
// what is beyond is for logs that leave much to hold.
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
