package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// VLLM is that of vLLM, as its workers print it when they start (vllm/v1/worker/gpu_worker.py and
// gpu_model_runner.py; V0: vllm/worker/worker.py and model_runner.py), and of its forks. GB and GiB
// are 1<<30.
//
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:16 [gpu_model_runner.py:4338] Model loading took 5.79 GiB memory and 2.56 seconds
//	INFO 12-06 17:07:09 model_runner.py:1077] Loading model weights took 0.2389 GB
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:20 [gpu_worker.py:424] Available KV cache memory: 14.74 GiB
//	(EngineCore_DP0 pid=7) INFO 03-09 09:32:24 [gpu_model_runner.py:5360] Graph capturing finished in 3 secs, took 0.51 GiB
//	(EngineCore pid=125) INFO 05-03 17:54:52 [gpu_worker.py:599] CUDA graph pool memory: 0.47 GiB (actual), 0.47 GiB (estimated)
//
// These are parts: of the model, of the cache that is taken next. So are those of the memory
// profile, in its wordings:
//
//	the current vLLM instance can use total_gpu_memory (47.50GiB) x gpu_memory_utilization (0.78) = 37.18GiB
//	model weights take 0.52GiB; non_torch_memory takes 0.08GiB; PyTorch activation peak memory takes 1.78GiB; the rest of
//	the memory reserved for KV Cache is 34.81GiB.
//	Memory profiling takes 24.71 seconds. Total non KV cache memory: 16.70GiB; torch peak memory increase: 1.40GiB;
//	non-torch forward increase memory: -15.24GiB; weights memory: 15.27GiB.
//	Memory profiling results: total_gpu_memory=7.92GiB initial_memory_usage=0.65GiB peak_torch_memory=0.71GiB
//	memory_usage_post_profile=0.68GiB non_torch_memory=0.43GiB kv_cache_size=5.99GiB gpu_memory_utilization=0.90
//
// What was asked for (37.18GiB), shares, sums of parts, and numbers of blocks and tokens are not
// readings. The levels are:
//
//	Initial free memory: 47.03 GiB; Requested memory: 0.90 (util), 42.64 GiB
//	Free memory after profiling: 46.93 GiB (total), 42.53 GiB (within requested)
//	Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage
//	is 14.08 GiB for weight, 1.97 GiB for peak activation, ... Current kv cache memory in use is 59212694937 bytes.
//	Sleep mode freed 71.25 GiB memory, 1.38 GiB memory is still in use.
//
// A worker that has too little memory to start with is out of memory:
//
//	ValueError: Free memory on device cuda:0 (2.6/121.63 GiB) on startup is less than desired GPU memory utilization (0.08,
//	9.73 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
//	ValueError: To serve at least one request with the models's max seq len (40960), (10.00 GiB KV cache is needed, which is
//	larger than the available KV cache memory (1.25 GiB). ...
//	ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
//
// The rank is that of the process's name where it gives one kind of parallelism: "(Worker_TP1
// pid=1160)", "(EngineCore_DP1 pid=7)", "(VllmWorker rank=1 pid=240)"; of "(Worker_DP1_TP0 pid=9)"
// and of a name without it is 0.
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

func readVLLM(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	starts := func(s string) bool { return len(text) >= len(s) && string(text[:len(s)]) == s }
	one := func(start, name string, q record.Quantity, behind ...string) int {
		return vllmSize(l, at, at+len(start), name, q, behind...)
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
		return vllmSize(l, at, at+min(len(text), 80)-len(took), "graph capturing", record.Buffer)
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
		return vllmParts(l, at, vllmFieldsV0)
	case starts(vllmPartsV1):
		return vllmParts(l, at, vllmFieldsV1)
	case starts(vllmResults):
		return readVLLMResults(l, at)
	case starts(vllmOnDevice):
		return readVLLMOnDevice(l, at)
	case starts(vllmActual):
		return readVLLMActual(l, at)
	case starts(vllmSleep):
		return readVLLMSleep(l, at)
	}
	return readVLLMShort(l, at)
}

// vllmSize reads the one size of a message. Behind it the sentence ends, or goes on in one of the
// ways given.
func vllmSize(
	l *scan.Line,
	at, from int,
	name string,
	q record.Quantity,
	behind ...string,
) (end int) {
	s, end, ok := sizeAt(l, at, from)
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
	part(l, at, name, vllmLane(l.Text[:at]), q, s)
	return end
}

// A vllmField is a part of the memory profile.
type vllmField struct{ label, name string }

var vllmFieldsV0 = []vllmField{
	{vllmPartsV0, "model weights"},
	{"non_torch_memory takes ", "non-torch memory"},
	{"PyTorch activation peak memory takes ", "activation peak"},
	{"the rest of the memory reserved for KV Cache is ", "KV cache"},
}

var vllmFieldsV1 = []vllmField{
	{vllmPartsV1, ""}, // a sum
	{"torch peak memory increase: ", "activation peak"},
	{"non-torch forward increase memory: ", "non-torch memory"},
	{"weights memory: ", "model weights"},
}

// vllmParts reads the parts of the memory profile, which are separated by semicolons.
func vllmParts(l *scan.Line, at int, fields []vllmField) (end int) {
	lane := vllmLane(l.Text[:at])
	from := at
	for _, f := range fields {
		i := bytes.Index(l.Text[from:min(len(l.Text), from+len(f.label)+8)], []byte(f.label))
		if i < 0 {
			break
		}
		s, after, ok := sizeAt(l, at, from+i+len(f.label))
		if !ok {
			return max(end, after)
		}
		if f.name != "" {
			part(l, from+i, f.name, lane, record.Buffer, s)
		}
		from, end = after, after
	}
	return end
}

// readVLLMResults reads the memory profile of 0.6: key=size, with commas between them or without.
func readVLLMResults(l *scan.Line, at int) (end int) {
	lane := vllmLane(l.Text[:at])
	from := at + len(vllmResults)
	c := record.Checkpoint{Name: "memory profiling", Lane: lane, Sampled: true}
	for {
		field := bytes.TrimLeft(l.Text[from:], ", ")
		i := bytes.IndexByte(lex.FirstBytes(field, 40), '=')
		if i < 0 {
			break
		}
		key := string(field[:i])
		from = len(l.Text) - len(field) + i + 1
		if key == "duration" {
			if i := bytes.IndexByte(lex.FirstBytes(field, 40), ','); i >= 0 {
				from = len(l.Text) - len(field) + i
				continue
			}
			break
		}
		if source.IsTemplate(field[:i]) || key == "gpu_memory_utilization" {
			break
		}
		s, after, ok := sizeAt(l, at, from)
		if !ok {
			end = max(end, after)
			break
		}
		switch key {
		case "total_gpu_memory", "total_mlu_memory", "total_hpu_memory", "total_npu_memory":
			c.Set(record.Total, s)
		case "initial_memory_usage":
			part(l, at, "initial memory usage", lane, record.Used, s)
		case "peak_torch_memory":
			c.Set(record.Peak, s)
		case "memory_usage_post_profile":
			c.Set(record.Used, s)
		case "non_torch_memory":
			part(l, at, "non-torch memory", lane, record.Buffer, s)
		case "kv_cache_size":
			part(l, at, "KV cache", lane, record.Buffer, s)
		}
		from, end = after, after
	}
	if c.Len() > 0 {
		c.Header = l.Header(at)
		l.Add(c)
	}
	return end
}

// vllmActualNames are the names by which other lines call the parts.
var vllmActualNames = map[string]string{
	"weight":           "model weights",
	"peak activation":  "activation peak",
	"CUDAGraph memory": "graph capturing",
}

// readVLLMActual reads "14.08 GiB for weight, 1.97 GiB for peak activation, and 0.67 GiB for
// CUDAGraph memory.".
func readVLLMActual(l *scan.Line, at int) (end int) {
	lane := vllmLane(l.Text[:at])
	for from := at + len(vllmActual); ; {
		s, after, ok := sizeAt(l, at, from)
		if !ok {
			return max(end, after)
		}
		name, ok := lex.CutPrefix(l.Text[after:], " for ")
		if !ok {
			return end
		}
		i := bytes.IndexAny(lex.FirstBytes(name, 60), ",.")
		if i < 0 {
			return end
		}
		last := name[i] == '.'
		from = len(l.Text) - len(name) + i + 1
		name, _, _ = bytes.Cut(name[:i], []byte(" ("))
		label, known := vllmActualNames[string(name)]
		if !known {
			label = l.Str(name)
		}
		part(l, at, label, lane, record.Buffer, s)
		if end = from; last {
			return end
		}
		if rest, ok := lex.CutPrefix(l.Text[from:], " and"); ok {
			from = len(l.Text) - len(rest)
		}
	}
}

// readVLLMSleep reads what sleep mode gave back and what it kept.
func readVLLMSleep(l *scan.Line, at int) (end int) {
	freed, after, ok := sizeAt(l, at, at+len(vllmSleep))
	if !ok {
		return after
	}
	rest, ok := lex.CutPrefix(l.Text[after:], " memory, ")
	if !ok {
		return 0
	}
	used, end, ok := sizeAt(l, at, len(l.Text)-len(rest))
	if !ok {
		return end
	}
	lane := vllmLane(l.Text[:at])
	change := record.Change{Header: l.Header(at), Name: "sleep mode", Lane: lane}
	change.Set(record.Free, freed)
	l.Add(change)
	part(l, at, "sleep mode", lane, record.Used, used)
	return end
}

// readVLLMOnDevice reads "cuda:0 (2.6/121.63 GiB) on startup", and what was desired where it is
// more than that.
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
	part(l, at, "on startup", lane, record.Free, free).Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// readVLLMShort reads that the cache does not fit.
func readVLLMShort(l *scan.Line, at int) (end int) {
	if source.IsQuotedAt(l.Text, at) {
		return 0
	}
	var o record.OutOfMemory
	if l.Text[at] == vllmNeeded[0] {
		// The size stands before it: "max seq len (40960), (10.00 GiB KV cache is needed", in other
		// versions "10.0 GiB".
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

// vllmLane is the lane that the process's name gives: "(EngineCore_DP0 pid=964370) INFO 03-09
// 09:32:16 [...] ".
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
