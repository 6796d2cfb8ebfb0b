package dialect

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// yoloDialect reads the YOLO trainers: Ultralytics' YOLOv3, YOLOv5 and ultralytics (YOLOv8, YOLO11,
// ...), and those made from them (YOLOR, YOLOv7, YOLOv9, YOLOv10). The second column is
// memory_reserved (memory_cached at first). A row is a progress bar. A log keeps its states on one
// line, with '\r' between them:
//
//	 Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size
//	 0/299      4.15G    0.09471    0.06054    0.05342         73        640: 100%|████| 8/8 [00:05<00:00,  1.4it/s]
//	Epoch   gpu_mem       box       obj       cls     total    labels  img_size
//
// The column has three significant digits ("%.3g"). G is 1e9 bytes, and 2**30 in ultralytics after
// 8.3.63. Its first line gives the version, and also the devices, which programs.yaml reads:
//
//	Ultralytics 8.3.100 🚀 Python-3.11.12 torch-2.6.0+cu124 CUDA:0 (Tesla T4, 15095MiB)
//
// Without a GPU the column says 0G, which is not a reading.
var yoloDialect = scan.Dialect{
	Name:    "yolo",
	Needles: []string{"GPU_mem", "gpu_mem", needleUltralytics},
	Read: func(l *scan.Line, at int) int {
		if text := l.Text[at:]; bytes.HasPrefix(text, []byte(needleUltralytics)) {
			if unit, ok := ultralyticsUnit(text); ok {
				l.Open(&yoloTable{unit: unit})
			}
			return at + len(needleUltralytics) // the devices follow on the line
		}
		if isYoloHeader(l.Text) {
			l.Open(&yoloTable{unit: lex.GB, hasHeader: true})
			return len(l.Text)
		}
		return 0
	},
}

const needleUltralytics = "Ultralytics "

// A yoloTable is the table of a training. It begins at the line with the version, and its rows
// begin behind the header. A yoloTable is never changed: at the header, a new one replaces it.
type yoloTable struct {
	unit      int64 // bytes of one G in the column
	hasHeader bool
}

// Row implements [scan.Table].
func (t *yoloTable) Row(l *scan.Line) bool {
	text := trimNotebook(l.Text)
	switch {
	case len(text) == 0:
		return false
	case !t.hasHeader || !lex.IsDigit(text[0]):
		// The header has no needle of its own. A table that began at the header would not know
		// the unit.
		if len(text) > 5 && text[0] == 'E' && isYoloHeader(text) {
			if !t.hasHeader {
				l.Open(&yoloTable{unit: t.unit, hasHeader: true})
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

// isYoloHeader reports whether a line is the table's header: "Epoch    GPU_mem   box_loss ...".
func isYoloHeader(text []byte) bool {
	text = trimNotebook(text)
	words := bytes.Fields(text[:min(len(text), 256)])
	if len(words) < 4 {
		return false
	}
	second := string(words[1])
	return string(words[0]) == "Epoch" && (second == "GPU_mem" || second == "gpu_mem")
}

// trimNotebook returns a line without the JSON that a notebook puts before it, and without
// blanks:
//
//	"\u001b[K      1/3      2.34G ...
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

// ultralyticsUnit returns how many bytes 1G means in the version with which the text begins:
// "Ultralytics 8.3.100 ", "Ultralytics YOLOv8.0.20 ".
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
	lastDecimal := [3]int{8, 3, 63}
	if slices.Compare(version[:], lastDecimal[:]) > 0 {
		return record.GiB, true
	}
	return lex.GB, true
}
