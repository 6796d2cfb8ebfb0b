package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// rmmDialect reads RAPIDS's memory manager. Its logging_resource_adaptor writes a row for each
// allocation and each free. The log has all of them, so their sum is the allocated memory:
//
//	Thread,Time,Action,Pointer,Size,Stream
//	2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
//	2342727,15:47:02.841977,free,0x10012400000,1048576,0
//	2342727,15:47:02.841980,allocate failure,(nil),99999999999,0
//
// Before 0.15 there was no column Thread. Before 0.13 the log had other columns
// (memory_manager.cpp, Logger::to_csv). The address 0 is a failed allocation there, and 0 as free
// or total memory means unknown:
//
//	Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location
//	Alloc,0,0x7f613be00000,0,720984,0,0,1,41.7014,41.7016,0.000156924,/src/memutils/memory/rmm_alloc.cu:85
//
// Its pools report a failed allocation in the debug log, and in the exception that they throw:
//
//	[1051543][14:14:13:650990][error ] [A][Stream 0x1][Upstream 42949672960B][FAILURE maximum pool size exceeded]
//	MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/rmm/mr/pool_memory_resource.hpp:196: Maximum pool size exceeded
//	... CUDA error (failed to allocate 85899345920 bytes) at: /cuda_memory_resource.cpp:26: cudaErrorMemoryAllocation out of memory
//
// The times in these logs have no date.
var rmmDialect = scan.Dialect{
	Name:    "rmm",
	Needles: []string{rmmColumns, rmmOldColumns, rmmFailure, rmmError, rmmCUDAError},
	Read: func(l *scan.Line, at int) int {
		switch rest := l.Text[at:]; {
		case bytes.HasPrefix(rest, []byte(rmmFailure)):
			return readRMMFailure(l, at)
		case bytes.HasPrefix(rest, []byte(rmmError)):
			return readRMMError(l, at)
		case bytes.HasPrefix(rest, []byte(rmmCUDAError)):
			return readRMMCUDAError(l, at)
		default:
			return readRMMHeader(l)
		}
	},
}

const (
	rmmColumns    = "Time,Action,Pointer,Size,Stream"
	rmmOldColumns = "Event Type,Device ID,Address"
	rmmFailure    = "][FAILURE "
	rmmError      = "RMM failure at"
	rmmCUDAError  = "CUDA error (failed to allocate "

	// rmmTextMax is the largest number of bytes of a message or a header that are read.
	rmmTextMax = 512
)

// readRMMFailure reads a line of the debug log:
//
//	[A][Stream 0x1][Upstream 42949672960B][FAILURE maximum pool size exceeded]
func readRMMFailure(l *scan.Line, at int) (end int) {
	low := max(0, at-rmmTextMax)
	from := low + bytes.LastIndex(l.Text[low:at], []byte("[A][Stream "))
	if from < low {
		return 0
	}
	_, size, ok := bytes.Cut(l.Text[from:at], []byte("][Upstream "))
	n, rest, isNumber := lex.CutNumber(size)
	if !ok || !isNumber || string(rest) != "B" || n.Decimals > 0 || n.Digits < 0 {
		return 0
	}
	l.Add(record.OutOfMemory{
		Header:       l.Header(from),
		Requested:    record.Exact(n.Digits),
		HasRequested: true,
		Text:         l.Message(from),
	})
	return len(l.Text)
}

// readRMMError reads the text of an exception. A text in quotes is not read, because it is
// program source that handles the exception:
//
//	RMM failure at:FILE:LINE: Maximum pool size exceeded (failed to allocate 1.500000 GiB): ...
func readRMMError(l *scan.Line, at int) (end int) {
	rest := l.Text[at:min(len(l.Text), at+rmmTextMax)]
	if at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') ||
		!bytes.Contains(rest, []byte(" size exceeded")) &&
			!bytes.Contains(rest, []byte("Exceeded memory limit")) {
		return 0
	}
	o := record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)}
	if _, size, ok := bytes.Cut(rest, []byte("(failed to allocate ")); ok {
		o.Requested, _, o.HasRequested = lex.CutSize(size, 0)
	}
	l.Add(o)
	return len(l.Text)
}

// readRMMCUDAError reads the exception of an allocation that the driver refused:
//
//	CUDA error (failed to allocate 85899345920 bytes) at: /cuda_memory_resource.cpp:26: cudaErrorMemoryAllocation out of memory
func readRMMCUDAError(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(rmmCUDAError) : min(len(l.Text), at+rmmTextMax)]
	size, rest, ok := lex.CutSize(rest, 0)
	if !ok || !bytes.HasPrefix(rest, []byte(") at: ")) ||
		!bytes.Contains(rest, []byte("cudaErrorMemoryAllocation")) {
		return 0
	}
	l.Add(record.OutOfMemory{
		Header:       l.Header(at),
		Requested:    size,
		HasRequested: true,
		Text:         l.Message(at),
	})
	return len(l.Text)
}
