package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// hfTrainerDialect is that of the Trainer of Hugging Face transformers with
// skip_memory_metrics=False (trainer_utils.py, TrainerMemoryTracker; trainer_pt_utils.py,
// log_metrics). Tables have MB, rounded down; dicts and files have bytes:
//
//	***** train metrics *****
//	  before_init_mem_gpu        =        0MB
//	  train_mem_gpu_alloc_delta  =      693MB
//	  train_mem_gpu_peaked_delta =        7MB
//	{'eval_mem_cpu_alloc_delta': 532480, 'eval_mem_gpu_alloc_delta': 0, ..., 'eval_mem_gpu_peaked_delta': 1242778112}
//
// The peak is counted from the level at the end: it is a change too. Keys with cpu are the host's.
var hfTrainerDialect = scan.Dialect{
	Name:    "hf-trainer",
	Needles: []string{"_mem_gpu"},
	Read:    readHFTrainer,
}

func readHFTrainer(l *scan.Line, at int) (end int) {
	start := at
	for start > 0 && at-start < 64 && lex.IsWordByte(l.Text[start-1]) {
		start--
	}
	stage, rest := l.Text[start:at], l.Text[at+len("_mem_gpu"):]
	q, isLevel := record.Allocated, false
	behind, ok := lex.CutPrefix(rest, "_alloc_delta")
	if !ok {
		if behind, ok = lex.CutPrefix(rest, "_peaked_delta"); ok {
			q = record.Peak
		}
	}
	if !ok {
		behind, isLevel = rest, bytes.HasPrefix(stage, []byte("before_"))
	}
	value, hasValue := scan.CutKeyed(l.Text, start, len(l.Text)-len(behind))
	n, tail, isNumber := lex.CutNumber(value)
	if !ok && !isLevel || !hasValue || !isNumber || len(stage) == 0 {
		return 0
	}
	unit, tail2 := lex.CutUnit(tail)
	size, fits := n.Times(1)
	if unit > 1 {
		size, fits = lex.Floored(n, unit)
		tail = tail2
	}
	if !fits || isLevel && n.Digits < 0 {
		return 0
	}
	if isLevel {
		c := l.Checkpoint(start, l.Str(stage))
		c.Sampled = true
		c.Set(q, size)
	} else {
		change := record.Change{Header: l.Header(start), Name: l.Str(stage)}
		change.Set(q, size)
		l.Add(change)
	}
	return len(l.Text) - len(tail)
}
