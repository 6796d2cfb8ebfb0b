package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// The trainers of vision models print the peak of memory_allocated with each step, among losses and times. A stepField is how
// one of them writes it.
type stepField struct {
	label string
	// unit is that of a number without one; 0 where one must be there.
	unit int64
	// whole says that the number is cut off or rounded up, so that the size may be all of a unit away.
	whole bool
	// among are texts one of which stands before it on the line, so that other programs' words are told from it.
	among []string
}

// swinDialect is that of Swin Transformer and the many that began with its main.py; MB are 1024 * 1024 bytes:
//
//	[2024-09-24 09:36:48 ViT-B/16] (main.py 188): INFO Train: [0/50][0/6]	eta 0:08:30 ...	mem 7345MB
//	[2021-05-01 10:00:00 swin](main.py 279): INFO Test: [0/98]	Time 3.1 (3.1)	Loss 0.4 (0.4)	...	Mem 3213MB
var swinDialect = scan.Dialect{
	Name:    "swin",
	Needles: []string{"\tmem ", "\tMem ", ") mem ", ") Mem "},
	Read: func(l *scan.Line, at int) int {
		if l.Text[at] == ')' {
			at++
		}
		label := string(l.Text[at : at+len("\tmem ")])
		return readStepField(l, at, stepField{label: label, among: []string{"time ", "Time ", "eta "}})
	},
}

// detrDialect is that of DETR's MetricLogger, which is torchvision's, and of those that took it over (DeiT, MAE, BEiT,
// DINO), and of maskrcnn-benchmark before them. MB are 1024 * 1024 bytes, rounded to whole ones, without a unit:
//
//	Epoch: [0]  [ 10/128]  eta: 0:02:08  lr: 0.000100  class_error: 100.00  ...  time: 1.0857  data: 0.2635  max mem: 3123
//	eta: 14:23:10  iter: 20  loss: 1.6 (1.9)  time: 0.6 (0.7)  data: 0.01 (0.04)  lr: 0.007173  max mem: 3106
var detrDialect = scan.Dialect{
	Name:    "detr",
	Needles: []string{"max mem: "},
	Read: func(l *scan.Line, at int) int {
		return readStepField(l, at, stepField{label: "max mem: ", unit: record.MiB, among: []string{"time: ", "eta: ", "lr: ", "loss: "}})
	},
}

// detectron2Dialect is that of detectron2's CommonMetricPrinter (detectron2/utils/events.py), and of fastreid's; M are
// 1024 * 1024 bytes:
//
//	[08/11 12:00:00 d2.utils.events]:  eta: 0:12:34  iter: 19  ...  data_time: 0.02  lr: 1.6e-05  max_mem: 2847M
var detectron2Dialect = scan.Dialect{
	Name:    "detectron2",
	Needles: []string{"max_mem: "},
	Read: func(l *scan.Line, at int) int {
		return readStepField(l, at, stepField{label: "max_mem: ", among: []string{"time: ", "eta: ", "iter: ", "lr: "}})
	},
}

// yoloxDialect is YOLOX's (yolox/core/trainer.py); Mb are 1024 * 1024 bytes. The second field is the process's own memory:
//
//	2023-01-01 00:00:00 | INFO | yolox.core.trainer:261 - epoch: 1/300, iter: 10/924, gpu mem: 4567Mb, mem: 12.0Gb, ...
var yoloxDialect = scan.Dialect{
	Name:    "yolox",
	Needles: []string{"gpu mem: "},
	Read: func(l *scan.Line, at int) int {
		return readStepField(l, at, stepField{label: "gpu mem: ", among: []string{"iter: "}})
	},
}

// slowfastDialect is PySlowFast's (slowfast/utils/meters.py), in GiB, and that of pycls before it, in MiB and rounded up:
//
//	[INFO: logging.py:  99]: json_stats: {"_type": "train_iter_ssl", "dt": 1.2, ..., "gpu_mem": "12.34G", "loss": 6.9}
//	[logging.py: 67]: json_stats: {"_type": "train_iter", "epoch": "1/100", "eta": "0:10:00", "mem": 3145, ...}
var slowfastDialect = scan.Dialect{
	Name:    "slowfast",
	Needles: []string{`"gpu_mem": "`, `"mem": `},
	Read: func(l *scan.Line, at int) int {
		among := []string{"json_stats: {"}
		if l.Text[at+1] == 'g' {
			return readStepField(l, at, stepField{label: `"gpu_mem": "`, among: among})
		}
		return readStepField(l, at, stepField{label: `"mem": `, unit: record.MiB, whole: true, among: among})
	},
}

func readStepField(l *scan.Line, at int, f stepField) (end int) {
	known := false
	for _, word := range f.among {
		known = known || bytes.Contains(lex.LastBytes(l.Text[:at], 8*nearby), []byte(word))
	}
	value := l.Text[at+len(f.label):]
	if !known || len(value) == 0 || !lex.IsDigit(value[0]) {
		return 0
	}
	s, rest, ok := lex.CutSize(value, f.unit)
	if !ok {
		l.Bad(at, "a size after \""+f.label+"\"", record.TornAdvice)
		return at + len(f.label)
	}
	if f.whole {
		s.Resolution = f.unit
	}
	c := l.Checkpoint(at, stepName(l, at))
	c.Sampled = true
	c.Set(record.Peak, s)
	return len(l.Text) - len(rest)
}

// stepName is what the line says that it is about: "Train" of "Train: [0/50][0/6]", "Epoch" of "Epoch: [0]  [ 10/128]",
// "train_iter" of a JSON line's "_type".
func stepName(l *scan.Line, at int) string {
	before := lex.FirstBytes(l.Text[:at], 8*nearby)
	if _, rest, ok := bytes.Cut(before, []byte(`"_type": "`)); ok {
		if kind, _, ok := bytes.Cut(rest, []byte(`"`)); ok && len(kind) < 64 {
			return l.Str(kind)
		}
	}
	for _, mark := range []string{": [", ":  ["} {
		i := bytes.Index(before, []byte(mark))
		from := i
		for from > 0 && lex.IsWordByte(before[from-1]) {
			from--
		}
		if i > from {
			return l.Str(before[from:i])
		}
	}
	return "step"
}
