package dialect

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
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
	Needles: []string{"GPU_mem", "gpu_mem", needleUltralytics, "mAP50", "mAP@.5"},
	Read: func(l *scan.Line, at int) int {
		text := l.Text[at:]
		switch {
		case bytes.HasPrefix(text, []byte(needleUltralytics)):
			if unit, ok := ultralyticsUnit(text); ok {
				l.Open(&yoloTable{unit: unit})
			}
			return at + len(needleUltralytics) // the devices follow on the line
		case text[0] == 'm':
			return readYoloScores(l, at)
		case isYoloHeader(l.Text):
			l.Open(&yoloTable{unit: lex.GB, hasHeader: true})
			return len(l.Text)
		}
		return 0
	},
}

const needleUltralytics = "Ultralytics "

// The error for rows without a header.
const (
	yoloHeadExpected = `the header of such rows before them, "Epoch  GPU_mem  box_loss ..."`
	yoloHeadAdvice   = "put the line that names the columns back before the rows, or use the whole " +
		"log of the training"
)

// A yoloTable is the table of a training. It begins at the line with the version, and its rows
// begin behind the header. A yoloTable is never changed: a new one replaces it.
type yoloTable struct {
	unit      int64 // bytes of one G in the column
	hasHeader bool
	headless  bool // the error for rows without a header was added
}

// Row implements [scan.Table].
func (t *yoloTable) Row(l *scan.Line) bool {
	text := trimNotebook(l.Text)
	if len(text) == 0 {
		return false
	}
	// The header has no needle of its own. A table that began at the header would not know the unit.
	if i := bytes.Index(text[:min(len(text), yoloPrefixMax)], []byte("Epoch ")); i >= 0 &&
		isYoloHeader(text) {
		if !t.hasHeader {
			l.Open(&yoloTable{unit: t.unit, hasHeader: true})
		}
		return true
	}
	n, at, ok := yoloRow(l.Text)
	switch {
	case !ok:
		return false
	case !t.hasHeader:
		if !yoloLosses(l.Text[at:]) {
			return false
		}
		if !t.headless {
			l.Bad(at, yoloHeadExpected, yoloHeadAdvice)
			l.Open(&yoloTable{unit: t.unit, headless: true})
		}
		return true
	case n.Digits == 0:
		return true
	}
	for n.Digits < 100 {
		n.Digits *= 10
		n.Decimals++
	}
	if s, ok := n.Times(t.unit); ok {
		c := l.Checkpoint(at, "epoch")
		c.Sampled = true
		c.Set(record.Reserved, s)
	}
	return true
}

// readYoloScores reads the line that names the columns of the scores behind an epoch. The row of
// the epoch is some lines above. If no header was read, readYoloScores adds an error:
//
//	1/100      2.13G      1.2       1.3       1.4         10        640: 100%|####| 8/8
//	     Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|####| 1/1
func readYoloScores(l *scan.Line, at int) (end int) {
	if _, ok := l.Opened().(*yoloTable); ok || !bytes.Contains(l.Text[:at], []byte("Images")) {
		return 0
	}
	lines := 0
	for text := range l.Above() {
		if lines++; lines > 16 {
			break
		}
		if _, i, ok := yoloRow(text); ok && yoloLosses(text[i:]) {
			l.Open(&yoloTable{unit: lex.GB, headless: true})
			bad := headlessYolo(text[i:])
			bad.Header = l.Header(0)
			bad.Pos.Line -= lines
			l.Add(bad)
			return len(l.Text)
		}
	}
	return 0
}

// headlessYolo returns the error for a row without a header.
func headlessYolo(row []byte) record.SyntaxError {
	return record.SyntaxError{
		Expected: yoloHeadExpected, Advice: yoloHeadAdvice,
		Found: lex.Shorten(strings.ToValidUTF8(string(row), "�"), 80),
	}
}

// yoloPrefixMax is the longest text of a logger or a notebook before a row, in bytes.
const yoloPrefixMax = 256

// yoloRow returns the memory in a row, and the offset of the row in the line. A logger's prefix may
// precede the row:
//
//	2026-11-20 02:00:03,123 - INFO -       0/299      4.1G    0.09471    0.06054    0.05342
func yoloRow(line []byte) (n lex.Decimal, at int, ok bool) {
	head := line[:min(len(line), yoloPrefixMax)]
	for from := 0; ; {
		slash := bytes.IndexByte(head[from:], '/')
		if slash < 0 {
			return n, 0, false
		}
		at, from = from+slash, from+slash+1
		for at > 0 && lex.IsDigit(line[at-1]) {
			at--
		}
		if at == from-1 {
			continue
		}
		_, rest, isEpoch := lex.CutInt(line[from:])
		value := lex.TrimBlanks(rest)
		if !isEpoch || len(value) == len(rest) {
			continue
		}
		n, rest, ok = lex.CutNumber(value)
		rest, isG := lex.CutPrefix(rest, "G")
		if ok && isG && n.Digits >= 0 && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t') &&
			isYoloPrefix(line[:at]) {
			return n, at, true
		}
	}
}

// isYoloPrefix reports whether the text before a row or a header is that of a notebook or a logger.
func isYoloPrefix(text []byte) bool {
	return len(trimNotebook(text)) == 0 || len(trimNotebook(source.WithoutLogger(text))) == 0
}

// yoloLosses reports whether at least two numbers follow the memory of a row, as the losses do.
func yoloLosses(row []byte) bool {
	words := bytes.Fields(row[:min(len(row), yoloPrefixMax)])
	if len(words) < 4 {
		return false
	}
	for _, w := range words[2:4] {
		if _, rest, ok := lex.CutFloat(w); (!ok || len(rest) > 0) && string(w) != "nan" {
			return false
		}
	}
	return true
}

// isYoloHeader reports whether a line is the table's header: "Epoch    GPU_mem   box_loss ...".
func isYoloHeader(text []byte) bool {
	text = trimNotebook(text)
	if i := bytes.Index(text[:min(len(text), yoloPrefixMax)], []byte("Epoch ")); i > 0 &&
		isYoloPrefix(text[:i]) {
		text = text[i:]
	}
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
