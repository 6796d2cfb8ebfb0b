package parser

import "bytes"

// trainerDialect is that of the memory metrics of Hugging Face's Trainer (skip_memory_metrics=False; TrainerMemoryTracker of
// transformers/trainer_utils.py): what was allocated before anything, and what each stage left behind and had at most
// beyond that. As a table they are whole MiB, cut off; as Python's or JSON's they are bytes:
//
//	  before_init_mem_gpu        =        0MB
//	  init_mem_gpu_alloc_delta   =      230MB
//	  train_mem_gpu_alloc_delta  =     1436MB
//	  train_mem_gpu_peaked_delta =   116876MB
//	eval_mem_gpu_peaked_delta = 116025344
//	{'train_runtime': 4.8, ..., 'train_mem_gpu_alloc_delta': -17491768832, ..., 'before_init_mem_gpu': 36141687296, 'epoch': 0.01}
//
// The differences are changes: the peak is above the level at the stage's end. The same with _cpu_ are the process's own.
var trainerDialect = dialect{
	name:    "trainer",
	needles: []string{"before_init_mem_gpu", "_mem_gpu_alloc_delta", "_mem_gpu_peaked_delta"},
	read:    readTrainer,
}

func readTrainer(l *line, at int) (end int) {
	from := at
	for from > 0 && at-from < 64 && inLabel(l.text[from-1]) {
		from--
	}
	end = at
	for end < len(l.text) && end-at < 64 && inLabel(l.text[end]) {
		end++
	}
	name, rest := l.text[from:end], l.text[end:]
	if behind, ok := cutPrefix(trimBlanks(rest), "="); ok {
		rest = behind
	} else if behind, ok := cutPrefix(bytes.TrimLeft(rest, `\"'`), ":"); ok {
		rest = behind
	} else {
		return 0
	}
	n, rest, ok := cutNumber(trimBlanks(rest))
	unit := int64(1)
	if behind, isTable := cutPrefix(rest, "MB"); isTable {
		rest, unit = behind, MiB
	}
	s, fits := n.times(unit)
	if !ok || n.decimals > 0 || !fits || len(rest) > 0 && inLabel(rest[0]) {
		return 0
	}
	if unit == MiB {
		s.Resolution = MiB // v >> 20
	}
	stage, kind, isDelta := bytes.Cut(name, []byte("_mem_gpu_"))
	end = len(l.text) - len(rest)
	switch {
	case isDelta && string(kind) == "alloc_delta":
		c := Change{Header: l.header(from), Name: string(stage)}
		c.Set(Allocated, s)
		l.add(c)
	case isDelta && string(kind) == "peaked_delta":
		c := Change{Header: l.header(from), Name: string(stage)}
		c.Set(Peak, s)
		l.add(c)
	case string(name) == "before_init_mem_gpu" && s.Bytes >= 0:
		c := l.checkpoint(from, "start")
		c.Sampled = true // at the start, but printed with what came later
		c.Set(Allocated, s)
	default:
		return 0
	}
	return end
}
