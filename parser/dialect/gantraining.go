package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// ganTrainingDialect reads what a guide to training in 16 GB prints, and the notebooks that follow
// it (winzerprince/sentio: ast/MEMORY_OPTIMIZATION_GUIDE.md, distilled-vit.ipynb):
//
//	GPU memory: 1.23 GB
//	Allocated: 1.23 GB
//	Reserved: 2.00 GB
//	Max allocated: 3.00 GB
//	✅ GAN config OK - 3.21 GB used
//	❌ OOM Error: CUDA out of memory. Tried to allocate 2.34 GiB (GPU 0; 15.90 GiB total capacity; ...)
//	   Current: GAN_BATCH_SIZE=24, BATCH_SIZE=12
//	   Suggested: GAN_BATCH_SIZE=12, BATCH_SIZE=6
//	  Max GPU memory: 1234.5 MB
//
// "used" is the allocated memory (torch.cuda.memory_allocated). The three lines with Allocated,
// Reserved and Max allocated are one reading. A notebook begins with the device's memory, which it
// divides by 1e9:
//
//	GPU: Tesla P100-PCIE-16GB
//	GPU Memory: 17.1 GB
var ganTrainingDialect = scan.Dialect{
	Name: "gan-training",
	Needles: []string{
		memoryLabel, "Max allocated: ", "g OK", "g ok", "g FAILED", "g failed", "OOM Error: ",
		deviceLabel, "Suggested: ", "SUGGESTED: ", "Suggested batch",
	},
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
		case text[0] == 'M':
			return readThreeLines(l, at)
		case text[0] == 'g':
			return readConfig(l, at-len(" confi"))
		case text[0] == 'S':
			return readSuggestion(l, at)
		case text[0] == 'O':
			return readOOMError(l, at)
		case bytes.HasPrefix(text, []byte(deviceLabel)):
			return readDeviceMemory(l, at)
		}
		return readGPUMemory(l, at)
	},
}

const (
	memoryLabel = "GPU memory: "
	deviceLabel = "GPU Memory: "
)

// readGPUMemory reads "GPU memory: 1.23 GB" and "Max GPU memory: 1234.5 MB". Other programs print
// the total or the free memory with another word before the label, or with another number of
// decimals. readGPUMemory does not read their lines.
func readGPUMemory(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(memoryLabel):]
	n, behind, ok := lex.CutNumber(text)
	s, rest, okSize := lex.CutSize(text, 0)
	if !ok || !okSize || s.Bytes < 0 || !bytes.HasPrefix(behind, []byte(" ")) || !endsField(rest) {
		return 0
	}
	q, from := record.Allocated, at
	switch {
	case n.Decimals == 1 && bytes.HasSuffix(l.Text[:at], []byte("Max ")):
		q, from = record.Peak, at-len("Max ")
	case n.Decimals != 2:
		return 0
	}
	if from > l.Head(from).Message() && startsWord(lastByte(l.Text[:from])) {
		return 0
	}
	c := l.Checkpoint(from, "GPU memory")
	c.Sampled = true
	c.Set(q, s)
	return len(l.Text) - len(rest)
}

// lastByte returns the last byte of a text that is not a blank, or an empty slice if the text has
// only blanks.
func lastByte(text []byte) []byte {
	text = bytes.TrimRight(text, " \t")
	return text[max(0, len(text)-1):]
}

// endsField reports whether the size before rest is complete. It is if the line ends behind the
// size, or if a quote, comma, bracket or '|' follows. It also is if a blank follows that neither
// a word nor '/' follows.
func endsField(rest []byte) bool {
	if len(rest) == 0 || bytes.IndexByte([]byte(`\",)|`), rest[0]) >= 0 {
		return true
	}
	return rest[0] == ' ' && (len(rest) == 1 || !startsWord(rest) && rest[1] != '/')
}

// readThreeLines reads "Max allocated: 3.00 GB", and the lines with "Reserved" and "Allocated"
// above it, as one checkpoint.
func readThreeLines(l *scan.Line, at int) (end int) {
	peak, rest, ok := labelledSize(l.Text, "Max allocated: ")
	before, okReserved := l.Previous(1)
	first, okAllocated := l.Previous(2)
	if !ok || !okReserved || !okAllocated {
		return 0
	}
	reserved, _, okReserved := labelledSize(before, "Reserved: ")
	allocated, _, okAllocated := labelledSize(first, "Allocated: ")
	if !okReserved || !okAllocated {
		return 0
	}
	c := l.Checkpoint(at, "GPU memory")
	c.Sampled = true
	c.Set(record.Allocated, allocated)
	c.Set(record.Reserved, reserved)
	c.Set(record.Peak, peak)
	return len(l.Text) - len(rest)
}

// labelledSize reads a line that has only a label and a size.
func labelledSize(text []byte, label string) (s record.Size, rest []byte, ok bool) {
	i := bytes.Index(text, []byte(label))
	if i < 0 || i > 256 || len(bytes.TrimSpace(text[source.MessageStart(text[:i]):i])) > 0 {
		return record.Size{}, nil, false
	}
	s, rest, ok = lex.CutSize(text[i+len(label):], 0)
	return s, rest, ok && s.Bytes >= 0 && endsField(rest)
}

// readDeviceMemory reads the device's total memory in decimal GB, on the line after its name.
func readDeviceMemory(l *scan.Line, at int) (end int) {
	before, there := l.Previous(1)
	before = source.WithoutLogger(before)
	if !there || !bytes.Contains(before[:min(len(before), 64)], []byte("GPU: ")) {
		return 0
	}
	n, behind, _ := lex.CutNumber(l.Text[at+len(deviceLabel):])
	s, rest, ok := lex.CutDecimalSize(l.Text[at+len(deviceLabel):])
	if !ok || s.Bytes <= 0 || n.Decimals != 1 || !bytes.HasPrefix(behind, []byte(" GB")) ||
		!endsField(rest) {
		return 0
	}
	c := l.Checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(record.Total, s)
	return len(l.Text) - len(rest)
}
