package parser

import "bytes"

// peftDialect is that of PEFT's examples, and of Accelerate's by_feature/fsdp_with_peak_mem_tracking.py, which print what an
// epoch has used of memory_allocated. The numbers are whole MiB, cut off (int(x / 2**20)), without a unit; the later versions
// name the device instead of "GPU", Accelerate neither:
//
//	GPU Memory before entering the train : 1916
//	GPU Memory consumed at the end of the train (end-begin): 66
//	GPU Peak Memory consumed during the train (max-begin): 7488
//	GPU Total Peak Memory consumed during the train (max): 9404
//	CUDA Memory before entering the eval : 1982
//
// The second and the third are changes. The same lines with "CPU" are of the process's own memory, and no readings.
//
// The benchmarks of its method_comparison give one peak, of memory_reserved, on the console and in bytes in their JSON, with
// means and percentiles, which are no level at any time and are left out:
//
//	accelerator memory max: 21726MB
//	    "accelerator_memory_reserved_avg": 14912955246,
//	    "accelerator_memory_max": 22781362176,
//
// Before May 2025 "cuda" stood in the place of "accelerator". The benchmark of text generation lists levels in MB:
//
//	{
//	  "stage": "peft_model_loaded",
//	  "ram_mb": 2861.2,
//	  "accelerator_allocated_mb": 6134.3,
//	  "accelerator_reserved_mb": 6172.0
//	}
var peftDialect = dialect{
	name: "peft",
	needles: []string{
		needlePeftBefore, needlePeftConsumed, needlePeftPeak,
		`accelerator_memory_max": `, `cuda_memory_max": `, "accelerator memory max: ", "cuda memory max: ",
		needlePeftStage,
	},
	read: func(l *line, at int) int {
		switch text := l.text[at:]; {
		case bytes.HasPrefix(text, []byte(needlePeftBefore)):
			return readPeft(l, at, needlePeftBefore)
		case bytes.HasPrefix(text, []byte(needlePeftConsumed)):
			return readPeft(l, at, needlePeftConsumed)
		case bytes.HasPrefix(text, []byte(needlePeftPeak)):
			return readPeft(l, at, needlePeftPeak)
		case bytes.HasPrefix(text, []byte(needlePeftStage)):
			return readPeftStage(l, at)
		}
		return readPeftMax(l, at)
	},
}

const (
	needlePeftBefore   = "Memory before entering the "
	needlePeftConsumed = "Memory consumed at the end of the "
	needlePeftPeak     = "Peak Memory consumed during the "
	needlePeftStage    = `"accelerator_allocated_mb": `
)

func readPeft(l *line, at int, label string) (end int) {
	before := bytes.TrimRight(l.text[:at], " ")
	from := at
	isTotal := bytes.HasSuffix(before, []byte("Total"))
	if isTotal {
		from = len(before) - len("Total")
		before = bytes.TrimRight(before[:from], " ")
	}
	if bytes.HasSuffix(before, []byte("CPU")) {
		return at + len(label)
	}
	stage, rest, ok := cutWord(l.text[at+len(label):])
	if !ok {
		return 0
	}
	what := " : "
	switch {
	case isTotal:
		what = " (max): "
	case label == needlePeftConsumed:
		what = " (end-begin): "
	case label == needlePeftPeak:
		what = " (max-begin): "
	}
	value, known := cutPrefix(rest, what)
	if !known || isTemplate(value) {
		return 0
	}
	n, behind, ok := cutNumber(value)
	s, fits := n.times(MiB)
	isChange := what[1] == '(' && !isTotal
	if !ok || !fits || n.decimals > 0 || n.digits < 0 && !isChange || len(behind) > 0 && isWordByte(behind[0]) {
		l.bad(from, "a number of MiB after \""+label+"...\"", tornAdvice)
		return at + len(label)
	}
	s.Resolution = MiB // the fraction is cut off, not rounded
	end = len(l.text) - len(behind)
	switch {
	case label == needlePeftBefore:
		l.checkpoint(from, "entering the "+stage).Set(Allocated, s)
	case isTotal:
		l.checkpoint(from, "end of the "+stage).Set(Peak, s)
	default:
		change := Change{Header: l.header(from), Name: "consumed at the end of the " + stage}
		q := Allocated
		if label == needlePeftPeak {
			change.Name, q = "consumed at most during the "+stage, Peak
		}
		change.Set(q, s)
		l.add(change)
	}
	return end
}

// cutWord cuts a word of letters off the text: "train", "eval".
func cutWord(text []byte) (word string, rest []byte, ok bool) {
	n := 0
	for n < len(text) && n < 32 && isWordByte(text[n]) {
		n++
	}
	return string(text[:n]), text[n:], n > 0
}

// readPeftMax reads the largest memory_reserved of a training, less what a fresh process has, which is nothing.
func readPeftMax(l *line, at int) (end int) {
	text := l.text[at:]
	i := bytes.IndexByte(text, ':') + 2
	unit, isJSON := MiB, text[i-3] == '"'
	if isJSON {
		unit = 1
	}
	n, rest, ok := cutNumber(text[i:])
	s, fits := n.times(unit)
	if !isJSON {
		var known bool
		rest, known = cutPrefix(rest, "MB")
		ok = ok && known
		s.Resolution = MiB // max // 2**20
	}
	if !ok || !fits || n.decimals > 0 || n.digits < 0 {
		return 0
	}
	c := l.checkpoint(at, "training")
	c.Sampled = true
	c.Set(PeakReserved, s)
	return len(l.text) - len(rest)
}

// readPeftStage reads an entry of memory_logs, whose lines follow one another.
func readPeftStage(l *line, at int) (end int) {
	cut := func(text []byte, label string) (Size, bool) {
		i := bytes.Index(text, []byte(label))
		if i < 0 {
			return Size{}, false
		}
		n, _, ok := cutFloat(trimBlanks(text[i+len(label):]))
		s, fits := n.times(MiB)
		s.Resolution = 0 // all of the float's digits
		return s, ok && fits && n.digits >= 0
	}
	allocated, ok := cut(l.text, needlePeftStage)
	if !ok {
		return 0
	}
	name := "memory"
	for n := 1; n <= 2; n++ {
		text, _ := l.previous(n)
		if _, rest, ok := bytes.Cut(text, []byte(`"stage": "`)); ok {
			stage, _, _ := bytes.Cut(rest, []byte(`"`))
			name = l.str(stage[:min(len(stage), nameMax)])
		}
	}
	c := l.checkpoint(at, name)
	c.Set(Allocated, allocated)
	if text, ok := l.peek(1); ok {
		if s, ok := cut(text, `"accelerator_reserved_mb": `); ok {
			l.next()
			c.Set(Reserved, s)
		}
	}
	return len(l.text)
}
