package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// peftDialect is that of PEFT's examples, and of Accelerate's
// by_feature/fsdp_with_peak_mem_tracking.py, which print what an epoch has used of
// memory_allocated. The numbers are whole MiB, cut off (int(x / 2**20)), without a unit; the later
// versions name the device instead of "GPU", Accelerate neither:
//
//	GPU Memory before entering the train : 1916
//	GPU Memory consumed at the end of the train (end-begin): 66
//	GPU Peak Memory consumed during the train (max-begin): 7488
//	GPU Total Peak Memory consumed during the train (max): 9404
//	CUDA Memory before entering the eval : 1982
//
// The second and the third are changes. The same lines with "CPU" are of the process's own memory,
// and no readings.
//
// The benchmarks of its method_comparison give one peak, of memory_reserved, on the console and in
// bytes in their JSON, with means and percentiles, which are no level at any time and are left out:
//
//	accelerator memory max: 21726MB
//	    "accelerator_memory_reserved_avg": 14912955246,
//	    "accelerator_memory_max": 22781362176,
//
// Before May 2025 "cuda" stood in the place of "accelerator". The benchmark of text generation
// lists levels in MB:
//
//	{
//	  "stage": "peft_model_loaded",
//	  "ram_mb": 2861.2,
//	  "accelerator_allocated_mb": 6134.3,
//	  "accelerator_reserved_mb": 6172.0
//	}
var peftDialect = scan.Dialect{
	Name: "peft",
	Needles: []string{
		needlePeftBefore,
		needlePeftConsumed,
		needlePeftPeak,
		`accelerator_memory_max": `,
		`cuda_memory_max": `,
		"accelerator memory max: ",
		"cuda memory max: ",
		needlePeftStage,
	},
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
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

func readPeft(l *scan.Line, at int, label string) (end int) {
	before := bytes.TrimRight(l.Text[:at], " ")
	from := at
	isTotal := bytes.HasSuffix(before, []byte("Total"))
	if isTotal {
		from = len(before) - len("Total")
		before = bytes.TrimRight(before[:from], " ")
	}
	if bytes.HasSuffix(before, []byte("CPU")) {
		return at + len(label)
	}
	stage, rest, ok := cutWord(l.Text[at+len(label):])
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
	value, known := lex.CutPrefix(rest, what)
	if !known || source.IsTemplate(value) {
		return 0
	}
	n, behind, ok := lex.CutNumber(value)
	s, fits := n.Times(record.MiB)
	isChange := what[1] == '(' && !isTotal
	if !ok || !fits || n.Decimals > 0 || n.Digits < 0 && !isChange ||
		len(behind) > 0 && lex.IsWordByte(behind[0]) {
		l.Bad(from, "a number of MiB after \""+label+"...\"", record.TornAdvice)
		return at + len(label)
	}
	s.Resolution = record.MiB // the fraction is cut off, not rounded
	end = len(l.Text) - len(behind)
	switch {
	case label == needlePeftBefore:
		l.Checkpoint(from, "entering the "+stage).Set(record.Allocated, s)
	case isTotal:
		l.Checkpoint(from, "end of the "+stage).Set(record.Peak, s)
	default:
		change := record.Change{Header: l.Header(from), Name: "consumed at the end of the " + stage}
		q := record.Allocated
		if label == needlePeftPeak {
			change.Name, q = "consumed at most during the "+stage, record.Peak
		}
		change.Set(q, s)
		l.Add(change)
	}
	return end
}

// cutWord cuts a word of letters off the text: "train", "eval".
func cutWord(text []byte) (word string, rest []byte, ok bool) {
	n := 0
	for n < len(text) && n < 32 && lex.IsWordByte(text[n]) {
		n++
	}
	return string(text[:n]), text[n:], n > 0
}

// readPeftMax reads the largest memory_reserved of a training, less what a fresh process has, which
// is nothing.
func readPeftMax(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	i := bytes.IndexByte(text, ':') + 2
	unit, isJSON := record.MiB, text[i-3] == '"'
	if isJSON {
		unit = 1
	}
	n, rest, ok := lex.CutNumber(text[i:])
	s, fits := n.Times(unit)
	if !isJSON {
		var known bool
		rest, known = lex.CutPrefix(rest, "MB")
		ok = ok && known
		s.Resolution = record.MiB // max // 2**20
	}
	if !ok || !fits || n.Decimals > 0 || n.Digits < 0 {
		return 0
	}
	c := l.Checkpoint(at, "training")
	c.Sampled = true
	c.Set(record.PeakReserved, s)
	return len(l.Text) - len(rest)
}

// readPeftStage reads an entry of memory_logs, whose lines follow one another.
func readPeftStage(l *scan.Line, at int) (end int) {
	cut := func(text []byte, label string) (record.Size, bool) {
		i := bytes.Index(text, []byte(label))
		if i < 0 {
			return record.Size{}, false
		}
		n, _, ok := lex.CutFloat(lex.TrimBlanks(text[i+len(label):]))
		s, fits := n.Times(record.MiB)
		s.Resolution = 0 // all of the float's digits
		return s, ok && fits && n.Digits >= 0
	}
	allocated, ok := cut(l.Text, needlePeftStage)
	if !ok {
		return 0
	}
	name := "memory"
	for n := 1; n <= 2; n++ {
		text, _ := l.Previous(n)
		if _, rest, ok := bytes.Cut(text, []byte(`"stage": "`)); ok {
			stage, _, _ := bytes.Cut(rest, []byte(`"`))
			name = l.Str(stage[:min(len(stage), scan.NameMax)])
		}
	}
	c := l.Checkpoint(at, name)
	c.Set(record.Allocated, allocated)
	if text, ok := l.Peek(1); ok {
		if s, ok := cut(text, `"accelerator_reserved_mb": `); ok {
			l.Next()
			c.Set(record.Reserved, s)
		}
	}
	return len(l.Text)
}
