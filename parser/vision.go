package parser

import "bytes"

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
var swinDialect = dialect{
	name:    "swin",
	needles: []string{"\tmem ", "\tMem ", ") mem ", ") Mem "},
	read: func(l *line, at int) int {
		if l.text[at] == ')' {
			at++
		}
		label := string(l.text[at : at+len("\tmem ")])
		return readStepField(l, at, stepField{label: label, among: []string{"time ", "Time ", "eta "}})
	},
}

// detrDialect is that of DETR's MetricLogger, which is torchvision's, and of those that took it over (DeiT, MAE, BEiT,
// DINO), and of maskrcnn-benchmark before them. MB are 1024 * 1024 bytes, rounded to whole ones, without a unit:
//
//	Epoch: [0]  [ 10/128]  eta: 0:02:08  lr: 0.000100  class_error: 100.00  ...  time: 1.0857  data: 0.2635  max mem: 3123
//	eta: 14:23:10  iter: 20  loss: 1.6 (1.9)  time: 0.6 (0.7)  data: 0.01 (0.04)  lr: 0.007173  max mem: 3106
var detrDialect = dialect{
	name:    "detr",
	needles: []string{"max mem: "},
	read: func(l *line, at int) int {
		return readStepField(l, at, stepField{label: "max mem: ", unit: MiB, among: []string{"time: ", "eta: ", "lr: ", "loss: "}})
	},
}

// detectron2Dialect is that of detectron2's CommonMetricPrinter (detectron2/utils/events.py), and of fastreid's; M are
// 1024 * 1024 bytes:
//
//	[08/11 12:00:00 d2.utils.events]:  eta: 0:12:34  iter: 19  ...  data_time: 0.02  lr: 1.6e-05  max_mem: 2847M
var detectron2Dialect = dialect{
	name:    "detectron2",
	needles: []string{"max_mem: "},
	read: func(l *line, at int) int {
		return readStepField(l, at, stepField{label: "max_mem: ", among: []string{"time: ", "eta: ", "iter: ", "lr: "}})
	},
}

// yoloxDialect is YOLOX's (yolox/core/trainer.py); Mb are 1024 * 1024 bytes. The second field is the process's own memory:
//
//	2023-01-01 00:00:00 | INFO | yolox.core.trainer:261 - epoch: 1/300, iter: 10/924, gpu mem: 4567Mb, mem: 12.0Gb, ...
var yoloxDialect = dialect{
	name:    "yolox",
	needles: []string{"gpu mem: "},
	read: func(l *line, at int) int {
		return readStepField(l, at, stepField{label: "gpu mem: ", among: []string{"iter: "}})
	},
}

// slowfastDialect is PySlowFast's (slowfast/utils/meters.py), in GiB, and that of pycls before it, in MiB and rounded up:
//
//	[INFO: logging.py:  99]: json_stats: {"_type": "train_iter_ssl", "dt": 1.2, ..., "gpu_mem": "12.34G", "loss": 6.9}
//	[logging.py: 67]: json_stats: {"_type": "train_iter", "epoch": "1/100", "eta": "0:10:00", "mem": 3145, ...}
var slowfastDialect = dialect{
	name:    "slowfast",
	needles: []string{`"gpu_mem": "`, `"mem": `},
	read: func(l *line, at int) int {
		among := []string{"json_stats: {"}
		if l.text[at+1] == 'g' {
			return readStepField(l, at, stepField{label: `"gpu_mem": "`, among: among})
		}
		return readStepField(l, at, stepField{label: `"mem": `, unit: MiB, whole: true, among: among})
	},
}

func readStepField(l *line, at int, f stepField) (end int) {
	known := false
	for _, word := range f.among {
		known = known || bytes.Contains(lastBytes(l.text[:at], 8*nearby), []byte(word))
	}
	value := l.text[at+len(f.label):]
	if !known || len(value) == 0 || !isDigit(value[0]) {
		return 0
	}
	s, rest, ok := cutSize(value, f.unit)
	if !ok {
		l.bad(at, "a size after \""+f.label+"\"", tornAdvice)
		return at + len(f.label)
	}
	if f.whole {
		s.Resolution = f.unit
	}
	c := l.checkpoint(at, l.stepName(at))
	c.Sampled = true
	c.Set(Peak, s)
	return len(l.text) - len(rest)
}

// stepName is what the line says that it is about: "Train" of "Train: [0/50][0/6]", "Epoch" of "Epoch: [0]  [ 10/128]",
// "train_iter" of a JSON line's "_type".
func (l *line) stepName(at int) string {
	before := firstBytes(l.text[:at], 8*nearby)
	if _, rest, ok := bytes.Cut(before, []byte(`"_type": "`)); ok {
		if kind, _, ok := bytes.Cut(rest, []byte(`"`)); ok && len(kind) < 64 {
			return l.str(kind)
		}
	}
	for _, mark := range []string{": [", ":  ["} {
		i := bytes.Index(before, []byte(mark))
		from := i
		for from > 0 && isWordByte(before[from-1]) {
			from--
		}
		if i > from {
			return l.str(before[from:i])
		}
	}
	return "step"
}
