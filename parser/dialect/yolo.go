package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// yoloDialect is that of the YOLO trainers: Ultralytics' YOLOv3, YOLOv5 and ultralytics (YOLOv8,
// YOLO11, ...), and what was made of them (YOLOR, YOLOv7, YOLOv9, YOLOv10). The second column is
// memory_reserved (memory_cached at first); the rows are a progress bar, of which a log keeps many
// states in one line, with '\r' between:
//
//	 Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size
//	 0/299      4.15G    0.09471    0.06054    0.05342         73        640: 100%|████| 8/8 [00:05<00:00,  1.4it/s]
//	Epoch   gpu_mem       box       obj       cls     total    labels  img_size
//
// It has three significant digits ("%.3g"), and G are 1e9 bytes. ultralytics went over to 2**30
// after 8.3.63, which the line of its version tells; that line also gives the devices:
//
//	Ultralytics 8.3.100 🚀 Python-3.11.12 torch-2.6.0+cu124 CUDA:0 (Tesla T4, 15095MiB)
//	YOLOv5 🚀 v7.0-0-g915bbf2 Python-3.10.6 torch-1.13.1+cu116 CUDA:0 (NVIDIA A100-SXM4-40GB, 40536MiB)
//	                                                          CUDA:1 (NVIDIA A100-SXM4-40GB, 40536MiB)
//
// Without a GPU the column says 0G, which is no reading.
var yoloDialect = scan.Dialect{
	Name:    "yolo",
	Needles: []string{"GPU_mem", "gpu_mem", needleUltralytics, needleCUDA},
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
		case bytes.HasPrefix(text, []byte(needleUltralytics)):
			if unit, ok := ultralyticsUnit(text); ok {
				l.Open(&yoloTable{unit: unit})
			}
			return at + len(needleUltralytics) // the device follows
		case bytes.HasPrefix(text, []byte(needleCUDA)):
			return readYoloDevice(l, at)
		}
		if isYoloHead(l.Text) {
			l.Open(&yoloTable{unit: lex.GB, rows: true})
			return len(l.Text)
		}
		return 0
	},
}

const (
	needleUltralytics = "Ultralytics "
	needleCUDA        = "CUDA:"
)

// A yoloTable is open from the line of the version on, and has rows from its head on. It does not
// change; another takes its place.
type yoloTable struct {
	unit int64
	rows bool
}

func (t *yoloTable) Row(l *scan.Line) bool {
	text := trimNotebook(l.Text)
	switch {
	case len(text) == 0:
		return false
	case !t.rows || !lex.IsDigit(text[0]):
		// A second head would have the unit forgotten.
		if len(text) > 5 && text[0] == 'E' && isYoloHead(text) {
			if !t.rows {
				l.Open(&yoloTable{unit: t.unit, rows: true})
			}
			return true
		}
		return false
	}
	_, rest, ok := lex.CutInt(text)
	rest, slash := lex.CutPrefix(rest, "/")
	_, rest, isEpoch := lex.CutInt(rest)
	value := lex.TrimBlanks(rest)
	if !ok || !slash || !isEpoch || len(value) == len(rest) {
		return false
	}
	n, rest, ok := lex.CutNumber(value)
	rest, isG := lex.CutPrefix(rest, "G")
	if !ok || !isG || n.Digits < 0 || len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' {
		return false
	}
	if n.Digits == 0 {
		return true
	}
	for n.Digits < 100 {
		n.Digits *= 10
		n.Decimals++
	}
	if s, ok := n.Times(t.unit); ok {
		c := l.Checkpoint(0, "epoch")
		c.Sampled = true
		c.Set(record.Reserved, s)
	}
	return true
}

// isYoloHead says that a line is the head of the columns: "Epoch    GPU_mem   box_loss ...".
func isYoloHead(text []byte) bool {
	text = trimNotebook(text)
	words := bytes.Fields(text[:min(len(text), 256)])
	if len(words) < 4 {
		return false
	}
	second := string(words[1])
	return string(words[0]) == "Epoch" && (second == "GPU_mem" || second == "gpu_mem")
}

// trimNotebook is a line without what a notebook's JSON puts before it: "      \"\u001b[K      1/3
// 2.34G ...".
func trimNotebook(text []byte) []byte {
	for {
		before := len(text)
		text = bytes.TrimLeft(text, " \t\"")
		for _, escape := range []string{`\u001b[K`, `\u001b[1m`, `\u001b[34m`, `\r`, `\n`} {
			text, _ = lex.CutPrefix(text, escape)
		}
		if len(text) == before {
			return text
		}
	}
}

// ultralyticsUnit is the unit of the version that the text begins with: "Ultralytics 8.3.100 ",
// "Ultralytics YOLOv8.0.20 ".
func ultralyticsUnit(text []byte) (unit int64, ok bool) {
	rest, _ := lex.CutPrefix(text[len(needleUltralytics):], "YOLOv")
	var version [3]int
	for i := range version {
		if i > 0 {
			if rest, ok = lex.CutPrefix(rest, "."); !ok {
				return 0, false
			}
		}
		if version[i], rest, ok = lex.CutInt(rest); !ok {
			return 0, false
		}
	}
	last := [3]int{8, 3, 63}
	for i := range version {
		switch {
		case version[i] < last[i]:
			return lex.GB, true
		case version[i] > last[i]:
			return record.GiB, true
		}
	}
	return lex.GB, true
}

// readYoloDevice reads "CUDA:0 (Tesla T4, 15095MiB)"; before 2021 "15079.75MB", which are the same.
func readYoloDevice(l *scan.Line, at int) (end int) {
	device, rest, ok := lex.CutInt(l.Text[at+len(needleCUDA):])
	rest, open := lex.CutPrefix(rest, " (")
	i := bytes.Index(rest[:min(len(rest), 200)], []byte("B)"))
	comma := bytes.LastIndexByte(rest[:max(i, 0)], ',')
	if !ok || !open || comma < 0 {
		return 0
	}
	s, behind, ok := lex.CutSize(rest[comma+1:], 0)
	if !ok || len(behind) == 0 || behind[0] != ')' || s.Bytes < 0 {
		return 0
	}
	c := l.Checkpoint(at, "device")
	c.Sampled = true
	c.Lane.Device = device
	c.Set(record.Total, s)
	return len(l.Text) - len(behind) + 1
}
