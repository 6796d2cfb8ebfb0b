package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// SGLang reads what SGLang's schedulers print when they start
// (sglang/srt/model_executor/model_runner.py, sglang/srt/mem_cache/memory_pool.py). GB is 1<<30.
//
//	[2026-08-01 23:37:50] Load weight begin. avail mem=115.36 GB
//	[2026-08-01 23:39:39 TP1] Load weight end. elapsed=109.33 s, type=LagunaForCausalLM, avail mem=47.80 GB, mem usage=67.56 GB.
//	[gpu=0] Memory pool end. avail mem=6.81 GB
//	[2026-08-01 23:43:38] Capture target prefill CUDA graph end. elapsed=216.19 s, mem usage=5.24 GB, avail mem=7.27 GB.
//	[2026-08-01 23:37:49] Init torch distributed ends. elapsed=0.23 s, mem usage=0.03 GB
//	[2026-08-01 23:43:42] max_total_num_tokens=185897, ..., context_len=65536, available_gpu_mem=6.22 GB
//	Capturing batches (bs=8 avail_mem=7.19 GB):  12%|█▎        | 1/8 [00:00<00:02,  2.37it/s]
//
// "avail mem" is the device's free memory. "mem usage" is what the step took of it, and is read as
// a buffer. Both are sampled, because a draft model goes through the same steps under the same
// names. A cache is a buffer, too. Its line gives the sizes of its pieces:
//
//	[2026-08-01 23:40:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 148717, K size: 10.21 GB, V size: 10.21 GB
//	[2026-02-26 16:41:18 TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB
//	[2026-02-01 00:05:03 TP0] Mamba Cache is allocated. max_mamba_cache_size: 38, conv_state size: 0.03GB, ssm_state size: 2.74GB
//
// "SWAKVPool mem usage: 28.93 GB" is the sum of the caches before it, and not read. If nvidia-smi
// fails, SGLang prints the total:
//
//	... Reported total GPU memory per device (MiB): [124546], using min: 124546 MiB.
//
// The beginning of a line gives the rank, see [parallelRank]: "TP1" or "TP1 EP1", but not "DP1
// TP0".
var SGLang = scan.Dialect{
	Name: "sglang",
	Needles: []string{
		"avail mem=",
		"mem usage=",
		"avail_mem=",
		"available_gpu_mem=",
		"KV Cache is allocated. ",
		"Mamba Cache is allocated. ",
		sglangTotals,
	},
	Read: readSGLang,
}

const sglangTotals = "total GPU memory per device (MiB): ["

// readSGLang reads the record that belongs to the needle at the offset `at`.
func readSGLang(l *scan.Line, at int) (end int) {
	switch l.Text[at] {
	case 'K', 'M':
		return readSGLangCache(l, at)
	case 't':
		return readSGLangTotals(l, at)
	case 'm':
		return readSGLangStep(l, at)
	}
	switch l.Text[at+len("avail")] {
	case '_':
		return readSGLangProgress(l, at)
	case ' ':
		return readSGLangStep(l, at)
	}
	s, end, ok := readSize(l, at, at+len("available_gpu_mem="))
	if !ok ||
		bytes.LastIndex(lex.LastBytes(l.Text[:at], scan.Near), []byte("max_total_num_tokens=")) < 0 {
		return end
	}
	_, lane := sglangHead(l.Text[:at])
	addSampled(l, at, "available_gpu_mem", lane, record.Free, s)
	return end
}

// readSGLangStep reads the one or two sizes of a step. The line's first sentence names the step.
func readSGLangStep(l *scan.Line, at int) (end int) {
	from, lane := sglangHead(l.Text[:at])
	name, _, ok := bytes.Cut(l.Text[from:at], []byte(". "))
	if !ok || len(name) > 80 || !isSGLangStep(name) || source.IsQuotedAt(l.Text, from) {
		return 0
	}
	c := record.Checkpoint{Name: l.Str(name), Lane: lane, Sampled: true}
	for rest := l.Text[at:]; ; {
		q, word := record.Free, "avail mem="
		if rest[0] == 'm' {
			q, word = record.Buffer, "mem usage="
		}
		s, after, ok := readSize(l, at, len(l.Text)-len(rest)+len(word))
		if !ok {
			end = max(end, after)
			break
		}
		end = after
		if s.Bytes < 0 {
			addSampled(l, at, c.Name, lane, q, s)
		} else {
			c.Set(q, s)
		}
		// ", mem usage=67.56 GB." follows, or in other versions ". avail mem=7.27 GB.".
		rest = bytes.TrimLeft(l.Text[after:], ",. ")
		_, free := lex.CutPrefix(rest, "avail mem=")
		_, taken := lex.CutPrefix(rest, "mem usage=")
		if !free && !taken || after+2 < len(l.Text)-len(rest) {
			break
		}
	}
	if c.Len() > 0 {
		c.Header = l.Header(at)
		l.Add(c)
	}
	return end
}

// isSGLangStep reports whether a text is the name of a step, such as "Load weight end".
func isSGLangStep(name []byte) bool {
	for _, verb := range []string{" begin", " end", " ends", " loaded"} {
		if bytes.HasSuffix(name, []byte(verb)) {
			return !source.IsTemplate(name)
		}
	}
	return false
}

// readSGLangProgress reads the progress bar of graph capturing: "Capturing batches (bs=8
// avail_mem=7.19 GB):  12%|█▎        | 1/8".
func readSGLangProgress(l *scan.Line, at int) (end int) {
	open := bytes.LastIndexByte(l.Text[max(0, at-40):at], '(')
	if open < 0 {
		return 0
	}
	open += max(0, at-40)
	if !bytes.HasSuffix(l.Text[max(0, open-24):open], []byte(" ")) ||
		bytes.LastIndex(l.Text[max(0, open-24):open], []byte("Capturing ")) < 0 {
		return 0
	}
	s, rest, ok := lex.CutSize(l.Text[at+len("avail_mem="):], 0)
	if rest, ok2 := lex.CutPrefix(rest, ")"); ok && ok2 {
		addSampled(l, at, "capturing", record.Lane{}, record.Free, s)
		return len(l.Text) - len(rest)
	}
	return 0
}

// readSGLangCache reads the sizes of a cache's parts, and adds a reading of their sum as one
// buffer.
func readSGLangCache(l *scan.Line, at int) (end int) {
	from, lane := sglangHead(l.Text[:at])
	if from != at {
		return 0
	}
	var sum record.Size
	for rest := l.Text[at:]; ; {
		i := bytes.Index(lex.FirstBytes(rest, scan.Near), []byte(" size: "))
		if i < 0 {
			break
		}
		s, after, ok := readSize(l, at, len(l.Text)-len(rest)+i+len(" size: "))
		if !ok {
			return after
		}
		sum.Bytes += s.Bytes
		sum.Resolution += s.Resolution
		rest, end = l.Text[after:], after
	}
	if end > 0 {
		name := "KV cache"
		if l.Text[at] == 'M' {
			name = "Mamba cache"
		}
		addSampled(l, at, name, lane, record.Buffer, sum)
	}
	return end
}

// readSGLangTotals reads the total of each device. The list is in the order of devices.
func readSGLangTotals(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(sglangTotals):]
	for device := range 1024 {
		n, after, ok := lex.CutNumber(lex.TrimBlanks(rest))
		s, fits := n.Times(record.MiB)
		if !ok || !fits || s.Bytes < 0 || len(after) == 0 || after[0] != ',' && after[0] != ']' {
			return end
		}
		addSampled(l, at, "total GPU memory", record.Lane{Device: device}, record.Total, s)
		rest, end = after[1:], len(l.Text)-len(after)+1
		if after[0] == ']' {
			break
		}
	}
	return end
}

// sglangHead returns the offset of the message behind "[2026-08-01 23:39:39 TP1] " or "[gpu=0] ",
// and the lane that this head gives.
func sglangHead(before []byte) (from int, lane record.Lane) {
	cut := max(0, len(before)-4*scan.Near) // a list of batch sizes may follow the head
	before = before[cut:]
	end := bytes.LastIndex(before, []byte("] "))
	open := bytes.LastIndexByte(before[:max(end, 0)], '[')
	if open < 0 {
		return cut + len(before) - len(lex.TrimBlanks(before)), record.Lane{}
	}
	head := before[open+1 : end]
	for _, key := range []string{"gpu=", "gpu_id="} {
		if device, ok := lex.CutPrefix(head, key); ok {
			lane.Device, _, _ = lex.CutInt(device)
		}
	}
	lane.Rank = parallelRank(head)
	return cut + end + 2, lane
}
