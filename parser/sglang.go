package parser

import "bytes"

// sglangDialect is that of SGLang, as its schedulers print it when they start (sglang/srt/model_executor/model_runner.py,
// sglang/srt/mem_cache/memory_pool.py). GB is 1<<30.
//
//	[2026-08-01 23:37:50] Load weight begin. avail mem=115.36 GB
//	[2026-08-01 23:39:39 TP1] Load weight end. elapsed=109.33 s, type=LagunaForCausalLM, avail mem=47.80 GB, mem usage=67.56 GB.
//	[gpu=0] Memory pool end. avail mem=6.81 GB
//	[2026-08-01 23:43:38] Capture target prefill CUDA graph end. elapsed=216.19 s, mem usage=5.24 GB, avail mem=7.27 GB.
//	[2026-08-01 23:37:49] Init torch distributed ends. elapsed=0.23 s, mem usage=0.03 GB
//	[2026-08-01 23:43:42] max_total_num_tokens=185897, ..., context_len=65536, available_gpu_mem=6.22 GB
//	Capturing batches (bs=8 avail_mem=7.19 GB):  12%|█▎        | 1/8 [00:00<00:02,  2.37it/s]
//
// What is available is free memory of the device; "mem usage" is what the step took of it, a part. They are sampled, since
// the draft model goes through the same steps under the same names. The caches are parts too, of which the line gives the
// pieces:
//
//	[2026-08-01 23:40:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 148717, K size: 10.21 GB, V size: 10.21 GB
//	[2026-02-26 16:41:18 TP6] KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB
//	[2026-02-01 00:05:03 TP0] Mamba Cache is allocated. max_mamba_cache_size: 38, conv_state size: 0.03GB, ssm_state size: 2.74GB
//
// "SWAKVPool mem usage: 28.93 GB" is the sum of the caches before it, and no reading. Where nvidia-smi fails, the total is
// said:
//
//	... Reported total GPU memory per device (MiB): [124546], using min: 124546 MiB.
//
// The rank is that of the line's head where it gives one kind of parallelism, "TP1" or "TP1 EP1"; of "DP1 TP0" it is 0.
var sglangDialect = dialect{
	name: "sglang",
	needles: []string{
		"avail mem=", "mem usage=", "avail_mem=", "available_gpu_mem=", "KV Cache is allocated. ", "Mamba Cache is allocated. ",
		sglangTotals,
	},
	read: readSGLang,
}

const sglangTotals = "total GPU memory per device (MiB): ["

func readSGLang(l *line, at int) (end int) {
	switch l.text[at] {
	case 'K', 'M':
		return readSGLangCache(l, at)
	case 't':
		return readSGLangTotals(l, at)
	case 'm':
		return readSGLangStep(l, at)
	}
	switch l.text[at+len("avail")] {
	case '_':
		return readSGLangProgress(l, at)
	case ' ':
		return readSGLangStep(l, at)
	}
	s, end, ok := l.sizeAt(at, at+len("available_gpu_mem="))
	if !ok || bytes.LastIndex(lastBytes(l.text[:at], near), []byte("max_total_num_tokens=")) < 0 {
		return end
	}
	_, lane := sglangHead(l.text[:at])
	l.part(at, "available_gpu_mem", lane, Free, s)
	return end
}

// readSGLangStep reads a step of the start, whose name is the line's first sentence, at the first of its two sizes.
func readSGLangStep(l *line, at int) (end int) {
	from, lane := sglangHead(l.text[:at])
	name, _, ok := bytes.Cut(l.text[from:at], []byte(". "))
	if !ok || len(name) > 80 || !sglangStep(name) || quoted(l.text, from) {
		return 0
	}
	c := Checkpoint{Name: l.str(name), Lane: lane, Sampled: true}
	for rest := l.text[at:]; ; {
		q, word := Free, "avail mem="
		if rest[0] == 'm' {
			q, word = Buffer, "mem usage="
		}
		s, after, ok := l.sizeAt(at, len(l.text)-len(rest)+len(word))
		if !ok {
			end = max(end, after)
			break
		}
		end = after
		if s.Bytes < 0 {
			l.part(at, c.Name, lane, q, s)
		} else {
			c.Set(q, s)
		}
		// ", mem usage=67.56 GB." or, in other versions, ". avail mem=7.27 GB.".
		rest = bytes.TrimLeft(l.text[after:], ",. ")
		_, free := cutPrefix(rest, "avail mem=")
		_, taken := cutPrefix(rest, "mem usage=")
		if !free && !taken || after+2 < len(l.text)-len(rest) {
			break
		}
	}
	if c.Len() > 0 {
		c.Header = l.header(at)
		l.add(c)
	}
	return end
}

// sglangStep says that a sentence is the name of a step: "Load weight end".
func sglangStep(name []byte) bool {
	for _, verb := range []string{" begin", " end", " ends", " loaded"} {
		if bytes.HasSuffix(name, []byte(verb)) {
			return !isTemplate(name)
		}
	}
	return false
}

// readSGLangProgress reads the bar of the capture: "Capturing batches (bs=8 avail_mem=7.19 GB):  12%|█▎        | 1/8".
func readSGLangProgress(l *line, at int) (end int) {
	open := bytes.LastIndexByte(l.text[max(0, at-40):at], '(')
	if open < 0 {
		return 0
	}
	open += max(0, at-40)
	if !bytes.HasSuffix(l.text[max(0, open-24):open], []byte(" ")) ||
		bytes.LastIndex(l.text[max(0, open-24):open], []byte("Capturing ")) < 0 {
		return 0
	}
	s, rest, ok := cutSize(l.text[at+len("avail_mem="):], 0)
	if rest, ok2 := cutPrefix(rest, ")"); ok && ok2 {
		l.part(at, "capturing", Lane{}, Free, s)
		return len(l.text) - len(rest)
	}
	return 0
}

// readSGLangCache reads the sizes of a cache's pieces and adds them up.
func readSGLangCache(l *line, at int) (end int) {
	from, lane := sglangHead(l.text[:at])
	if from != at {
		return 0
	}
	var sum Size
	for rest := l.text[at:]; ; {
		i := bytes.Index(firstBytes(rest, near), []byte(" size: "))
		if i < 0 {
			break
		}
		s, after, ok := l.sizeAt(at, len(l.text)-len(rest)+i+len(" size: "))
		if !ok {
			return after
		}
		sum.Bytes += s.Bytes
		sum.Resolution += s.Resolution
		rest, end = l.text[after:], after
	}
	if end > 0 {
		name := "KV cache"
		if l.text[at] == 'M' {
			name = "Mamba cache"
		}
		l.part(at, name, lane, Buffer, sum)
	}
	return end
}

// readSGLangTotals reads the totals of the devices, in their order.
func readSGLangTotals(l *line, at int) (end int) {
	rest := l.text[at+len(sglangTotals):]
	for device := range 1024 {
		n, after, ok := cutNumber(trimBlanks(rest))
		s, fits := n.times(MiB)
		if !ok || !fits || s.Bytes < 0 || len(after) == 0 || after[0] != ',' && after[0] != ']' {
			return end
		}
		l.part(at, "total GPU memory", Lane{Device: device}, Total, s)
		rest, end = after[1:], len(l.text)-len(after)+1
		if after[0] == ']' {
			break
		}
	}
	return end
}

// sglangHead is where the message begins behind the line's head, "[2026-08-01 23:39:39 TP1] " or "[gpu=0] ", and the lane
// that the head gives.
func sglangHead(before []byte) (from int, lane Lane) {
	cut := max(0, len(before)-4*near) // the list of batch sizes may stand between
	before = before[cut:]
	end := bytes.LastIndex(before, []byte("] "))
	open := bytes.LastIndexByte(before[:max(end, 0)], '[')
	if open < 0 {
		return cut + len(before) - len(trimBlanks(before)), Lane{}
	}
	head := before[open+1 : end]
	for _, key := range []string{"gpu=", "gpu_id="} {
		if device, ok := cutPrefix(head, key); ok {
			lane.Device, _, _ = cutInt(device)
		}
	}
	lane.Rank = parallelRank(head)
	return cut + end + 2, lane
}
