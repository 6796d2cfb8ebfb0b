package parser

import "bytes"

// hfTrainerDialect is that of the Trainer of Hugging Face transformers with skip_memory_metrics=False (trainer_utils.py,
// TrainerMemoryTracker; trainer_pt_utils.py, log_metrics). Tables have MB, rounded down; dicts and files have bytes:
//
//	***** train metrics *****
//	  before_init_mem_gpu        =        0MB
//	  train_mem_gpu_alloc_delta  =      693MB
//	  train_mem_gpu_peaked_delta =        7MB
//	{'eval_mem_cpu_alloc_delta': 532480, 'eval_mem_gpu_alloc_delta': 0, ..., 'eval_mem_gpu_peaked_delta': 1242778112}
//
// The peak is counted from the level at the end: it is a change too. Keys with cpu are the host's.
var hfTrainerDialect = dialect{
	name:    "hf-trainer",
	needles: []string{"_mem_gpu"},
	read:    readHFTrainer,
}

func readHFTrainer(l *line, at int) (end int) {
	start := at
	for start > 0 && at-start < 64 && isWordByte(l.text[start-1]) {
		start--
	}
	stage, rest := l.text[start:at], l.text[at+len("_mem_gpu"):]
	q, isLevel := Allocated, false
	behind, ok := cutPrefix(rest, "_alloc_delta")
	if !ok {
		if behind, ok = cutPrefix(rest, "_peaked_delta"); ok {
			q = Peak
		}
	}
	if !ok {
		behind, isLevel = rest, bytes.HasPrefix(stage, []byte("before_"))
	}
	value, hasValue := cutKeyed(l.text, start, len(l.text)-len(behind))
	n, tail, isNumber := cutNumber(value)
	if !ok && !isLevel || !hasValue || !isNumber || len(stage) == 0 {
		return 0
	}
	unit, tail2 := cutUnit(tail)
	size, fits := n.times(1)
	if unit > 1 {
		size, fits = floored(n, unit)
		tail = tail2
	}
	if !fits || isLevel && n.digits < 0 {
		return 0
	}
	if isLevel {
		c := l.checkpoint(start, l.str(stage))
		c.Sampled = true
		c.Set(q, size)
	} else {
		change := Change{Header: l.header(start), Name: l.str(stage)}
		change.Set(q, size)
		l.add(change)
	}
	return len(l.text) - len(tail)
}
