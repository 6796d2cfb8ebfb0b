package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// VLLM reads what the workers of vLLM and its forks print when they start
// (vllm/v1/worker/gpu_worker.py and gpu_model_runner.py; V0: vllm/worker/worker.py and
// model_runner.py). GB and GiB are 1<<30.
//
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:16 [gpu_model_runner.py:4338] Model loading took 5.79 GiB memory and 2.56 seconds
//	INFO 12-06 17:07:09 model_runner.py:1077] Loading model weights took 0.2389 GB
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:20 [gpu_worker.py:424] Available KV cache memory: 14.74 GiB
//	(EngineCore_DP0 pid=7) INFO 03-09 09:32:24 [gpu_model_runner.py:5360] Graph capturing finished in 3 secs, took 0.51 GiB
//	(EngineCore pid=125) INFO 05-03 17:54:52 [gpu_worker.py:599] CUDA graph pool memory: 0.47 GiB (actual), 0.47 GiB (estimated)
//
// The sizes in these lines are read as buffers: the model, the KV cache that the worker allocates
// next, and the CUDA graphs. The memory profile is worded differently in each version. Its model
// weights, KV cache, activation peak and non-torch memory are read as buffers too. Its total
// memory, PyTorch's peak, and the use before and after profiling are read as levels. A negative
// size of a buffer is read as a [record.Change]:
//
//	the current vLLM instance can use total_gpu_memory (47.50GiB) x gpu_memory_utilization (0.78) = 37.18GiB
//	model weights take 0.52GiB; non_torch_memory takes 0.08GiB; PyTorch activation peak memory takes 1.78GiB; the rest of
//	the memory reserved for KV Cache is 34.81GiB.
//	Memory profiling takes 24.71 seconds. Total non KV cache memory: 16.70GiB; torch peak memory increase: 1.40GiB;
//	non-torch forward increase memory: -15.24GiB; weights memory: 15.27GiB.
//	Memory profiling results: total_gpu_memory=7.92GiB initial_memory_usage=0.65GiB peak_torch_memory=0.71GiB
//	memory_usage_post_profile=0.68GiB non_torch_memory=0.43GiB kv_cache_size=5.99GiB gpu_memory_utilization=0.90
//
// These are not read: the requested memory (37.18GiB), fractions, sums of buffers, and numbers of
// blocks and tokens. The following lines give the free or the used memory of the device. The third
// also gives sizes of buffers:
//
//	Initial free memory: 47.03 GiB; Requested memory: 0.90 (util), 42.64 GiB
//	Free memory after profiling: 46.93 GiB (total), 42.53 GiB (within requested)
//	Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage
//	is 14.08 GiB for weight, 1.97 GiB for peak activation, ... Current kv cache memory in use is 59212694937 bytes.
//	Sleep mode freed 71.25 GiB memory, 1.38 GiB memory is still in use.
//
// A worker that has too little memory to start gives a [record.OutOfMemory]:
//
//	ValueError: Free memory on device cuda:0 (2.6/121.63 GiB) on startup is less than desired GPU memory utilization (0.08,
//	9.73 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
//	ValueError: To serve at least one request with the models's max seq len (40960), (10.00 GiB KV cache is needed, which is
//	larger than the available KV cache memory (1.25 GiB). ...
//	ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
//
// The name of the process gives the rank, see [parallelRank]: "(Worker_TP1 pid=1160)",
// "(EngineCore_DP1 pid=7)", "(VllmWorker rank=1 pid=240)", but not "(Worker_DP1_TP0 pid=9)".
var VLLM = scan.Dialect{
	Name: "vllm",
	Needles: []string{
		vllmLoading,
		vllmWeightsV0,
		vllmCache,
		vllmCaptured,
		vllmGraphPool,
		vllmTotalV0,
		vllmPartsV0,
		vllmPartsV1,
		vllmResults,
		vllmInitial,
		vllmProfiled,
		vllmOnDevice,
		vllmActual,
		vllmInUse,
		vllmSleep,
		vllmNeeded,
		vllmNoBlocks,
	},
	Read: readVLLM,
}

const (
	vllmLoading   = "Model loading took "
	vllmWeightsV0 = "Loading model weights took "
	vllmCache     = "Available KV cache memory: "
	vllmCaptured  = "Graph capturing finished in "
	vllmGraphPool = "CUDA graph pool memory: "
	vllmTotalV0   = "instance can use total_gpu_memory ("
	vllmPartsV0   = "model weights take "
	vllmPartsV1   = "Total non KV cache memory: "
	vllmResults   = "Memory profiling results: "
	vllmInitial   = "Initial free memory: "
	vllmProfiled  = "Free memory after profiling: "
	vllmOnDevice  = "Free memory on device "
	vllmActual    = "Actual usage is "
	vllmInUse     = "Current kv cache memory in use is "
	vllmSleep     = "Sleep mode freed "
	vllmNeeded    = "KV cache is needed, which is larger than the available"
	vllmNoBlocks  = "No available memory for the cache blocks."
)

// readVLLM reads the record that belongs to the needle at the offset `at`.
func readVLLM(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	starts := func(s string) bool { return len(text) >= len(s) && string(text[:len(s)]) == s }
	one := func(start, name string, q record.Quantity, behind ...string) int {
		return readVLLMSize(l, at, at+len(start), name, q, behind...)
	}
	switch {
	case starts(vllmLoading):
		return one(vllmLoading, "model loading", record.Buffer, " memory", " and ")
	case starts(vllmWeightsV0):
		return one(vllmWeightsV0, "model loading", record.Buffer)
	case starts(vllmCache):
		return one(vllmCache, "KV cache", record.Buffer)
	case starts(vllmCaptured):
		_, took, ok := bytes.Cut(lex.FirstBytes(text, 80), []byte(" secs, took "))
		if !ok {
			return 0
		}
		return readVLLMSize(l, at, at+min(len(text), 80)-len(took), "graph capturing", record.Buffer)
	case starts(vllmGraphPool):
		return one(vllmGraphPool, "CUDA graph pool", record.Buffer, " (actual)")
	case starts(vllmTotalV0):
		return one(vllmTotalV0, "memory profiling", record.Total)
	case starts(vllmInitial):
		return one(vllmInitial, "initial free memory", record.Free)
	case starts(vllmProfiled):
		return one(vllmProfiled, "free memory after profiling", record.Free, " (total)")
	case starts(vllmInUse):
		return one(vllmInUse, "KV cache", record.Buffer)
	case starts(vllmPartsV0):
		return readVLLMProfile(l, at, vllmFieldsV0)
	case starts(vllmPartsV1):
		return readVLLMProfile(l, at, vllmFieldsV1)
	case starts(vllmResults):
		return readVLLMResults(l, at)
	case starts(vllmOnDevice):
		return readVLLMOnDevice(l, at)
	case starts(vllmActual):
		return readVLLMActual(l, at)
	case starts(vllmSleep):
		return readVLLMSleep(l, at)
	}
	return readVLLMTooSmall(l, at)
}

// readVLLMSize reads the only size of a message, at the offset from. It returns 0 unless the
// sentence ends behind the size or goes on with one of the words in the parameter behind.
func readVLLMSize(
	l *scan.Line,
	at, from int,
	name string,
	q record.Quantity,
	behind ...string,
) (end int) {
	s, end, ok := readSize(l, at, from)
	if !ok {
		return end
	}
	rest := l.Text[end:]
	known := len(bytes.TrimSpace(rest)) == 0 || bytes.IndexByte([]byte(".,;)\"'`\\"), rest[0]) >= 0
	for _, b := range behind {
		_, found := lex.CutPrefix(rest, b)
		known = known || found
	}
	if !known {
		return 0
	}
	addSampled(l, at, name, vllmLane(l.Text[:at]), q, s)
	return end
}

// readVLLMSleep reads how much memory sleep mode freed, as a change, and how much is still in use.
func readVLLMSleep(l *scan.Line, at int) (end int) {
	freed, after, ok := readSize(l, at, at+len(vllmSleep))
	if !ok {
		return after
	}
	rest, ok := lex.CutPrefix(l.Text[after:], " memory, ")
	if !ok {
		return 0
	}
	used, end, ok := readSize(l, at, len(l.Text)-len(rest))
	if !ok {
		return end
	}
	lane := vllmLane(l.Text[:at])
	change := record.Change{Header: l.Header(at), Name: "sleep mode", Lane: lane}
	change.Set(record.Free, freed)
	l.Add(change)
	addSampled(l, at, "sleep mode", lane, record.Used, used)
	return end
}

// readVLLMOnDevice reads the free and the total memory in "cuda:0 (2.6/121.63 GiB) on startup".
// If the line says that the free memory is less than the desired memory, the worker does not
// start, and the record is a [record.OutOfMemory].
func readVLLMOnDevice(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(vllmOnDevice):]
	lane := vllmLane(l.Text[:at])
	open := bytes.IndexByte(lex.FirstBytes(text, 24), '(')
	if open < 0 {
		return 0
	}
	if i := bytes.IndexByte(text[:open], ':'); i >= 0 {
		lane.Device, _, _ = lex.CutInt(text[i+1:])
	}
	n, rest, ok := lex.CutNumber(text[open+1:])
	if !ok || len(rest) == 0 || rest[0] != '/' {
		return 0
	}
	total, rest, sized := lex.CutSize(rest[1:], 0)
	free, fits := n.Times(record.GiB)
	if rest, ok = lex.CutPrefix(rest, ") on startup"); !ok || !sized || !fits {
		return 0
	}
	if short, ok := lex.CutPrefix(rest, " is less than desired GPU memory utilization ("); ok {
		o := record.OutOfMemory{Header: l.Header(at), Lane: lane, Text: l.Message(at)}
		if _, desired, ok := bytes.Cut(short, []byte(", ")); ok {
			o.Requested, _, o.HasRequested = lex.CutSize(desired, 0)
		}
		o.Set(record.Free, free)
		o.Set(record.Total, total)
		l.Add(o)
		return len(l.Text)
	}
	addSampled(l, at, "on startup", lane, record.Free, free).Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// readVLLMTooSmall reads the errors that say that the KV cache does not fit.
func readVLLMTooSmall(l *scan.Line, at int) (end int) {
	if source.IsQuotedAt(l.Text, at) {
		return 0
	}
	var o record.OutOfMemory
	if l.Text[at] == vllmNeeded[0] {
		// The needed size precedes the needle: "max seq len (40960), (10.00 GiB KV cache is needed".
		// Other versions print "10.0 GiB".
		before := bytes.TrimRight(l.Text[max(0, at-40):at], " ")
		i := bytes.LastIndexByte(before, ' ')
		if i < 0 {
			return 0
		}
		i = bytes.LastIndexAny(before[:i], " (")
		s, rest, ok := lex.CutSize(before[i+1:], 0)
		if !ok || len(rest) > 0 {
			return 0
		}
		o.Requested, o.HasRequested = s, true
		at = max(0, at-40) + i + 1
	}
	o.Header, o.Lane, o.Text = l.Header(at), vllmLane(l.Text[:at]), l.Message(at)
	l.Add(o)
	return len(l.Text)
}

// vllmLane returns the lane in the process's name before a message:
//
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:16 [...]
func vllmLane(before []byte) (lane record.Lane) {
	before = lex.LastBytes(before, scan.Near)
	end := bytes.LastIndex(before, []byte(" pid="))
	open := bytes.LastIndexByte(before[:max(end, 0)], '(')
	if open < 0 {
		return record.Lane{}
	}
	name := before[open+1 : end]
	if _, rank, ok := bytes.Cut(name, []byte(" rank=")); ok {
		lane.Rank, _, _ = lex.CutInt(rank)
		return lane
	}
	lane.Rank = parallelRank(name)
	return lane
}
