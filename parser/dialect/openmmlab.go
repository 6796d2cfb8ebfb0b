package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// openmmlabDialect is that of OpenMMLab's trainers: MMEngine (mmengine/runner/log_processor.py) and
// MMCV before it (mmcv/runner/hooks/logger/text.py), under MMDetection, MMSegmentation, MMPose,
// ViTPose and the rest. It is the peak of memory_allocated over the devices, in whole MiB, cut off,
// without a unit; MMEngine resets the peak each time:
//
//	2023/02/01 10:00:00 - mmengine - INFO - Epoch(train)  [1][  50/7330]  ...  data_time: 0.0100  memory: 5012  loss: 1.9
//	2021-06-01 10:00:00,123 - mmdet - INFO - Epoch [1][50/7330]	lr: 1.978e-03, ..., data_time: 0.058, memory: 4567, loss: 1.2
//
// Beside the log they write it as JSON, a line each:
//
//	{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.00198, "memory": 4567, "data_time": 0.0582, "loss": 1.2, "time": 0.555}
var openmmlabDialect = scan.Dialect{
	Name:    "openmmlab",
	Needles: []string{", memory: ", "  memory: ", needleMemoryJSON},
	Read:    readOpenMMLab,
}

const needleMemoryJSON = `"memory": `

func readOpenMMLab(l *scan.Line, at int) (end int) {
	i := at + bytes.IndexByte(l.Text[at:], ':') + 2
	isJSON := l.Text[at] == '"'
	name := ""
	if isJSON {
		name = jsonStep(l)
	} else {
		name = textStep(l, at)
	}
	n, rest, ok := lex.CutInt(l.Text[min(i, len(l.Text)):])
	if name == "" || !ok {
		return 0
	}
	if len(rest) > 0 && rest[0] != ',' && rest[0] != ' ' && rest[0] != '}' && rest[0] != '\\' &&
		rest[0] != '"' {
		if isJSON {
			return 0
		}
		l.Bad(at, "a whole number of MiB after \"memory: \"", record.TornAdvice)
		return i
	}
	c := l.Checkpoint(at, name)
	c.Sampled = true
	c.Set(record.Peak, record.Size{Bytes: int64(n) * record.MiB, Resolution: record.MiB})
	return len(l.Text) - len(rest)
}

// textStep is the word before the counters, "Epoch(train)", "Iter", where the line is of a trainer.
func textStep(l *scan.Line, at int) string {
	if !bytes.Contains(lex.LastBytes(l.Text[:at], nearby), []byte("time: ")) {
		return ""
	}
	before := lex.FirstBytes(l.Text[:at], nearby)
	for _, word := range []string{"Epoch", "Iter"} {
		i := bytes.Index(before, []byte(word))
		if i < 0 {
			continue
		}
		rest := before[i:]
		end := bytes.IndexAny(rest, " [\t")
		if end > 0 && end < 32 && bytes.HasPrefix(lex.TrimBlanks(rest[end:]), []byte("[")) {
			return l.Str(rest[:end])
		}
	}
	return ""
}

// jsonStep is the mode of a line of JSON that is a trainer's, "train" where it has none.
func jsonStep(l *scan.Line) string {
	text := lex.TrimBlanks(lex.FirstBytes(l.Text, 32*nearby))
	if len(text) == 0 || text[0] != '{' || !bytes.Contains(text, []byte(`time": `)) {
		return ""
	}
	known := false
	for _, key := range []string{`"iter": `, `"step": `, `"epoch": `} {
		known = known || bytes.Contains(text, []byte(key))
	}
	if !known {
		return ""
	}
	if _, rest, ok := bytes.Cut(text, []byte(`"mode": "`)); ok {
		if mode, _, ok := bytes.Cut(rest, []byte(`"`)); ok && len(mode) < 32 {
			return l.Str(mode)
		}
	}
	return "train"
}
