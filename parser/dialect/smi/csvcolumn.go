package smi

import (
	"bytes"
	"strings"
	"unicode"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/stamp"
)

// A csvColumn is one column of a table.
type csvColumn struct {
	kind csvKind
	// These fields are set for a column of memory sizes:
	q      record.Quantity
	unit   int64 // bytes of a unit; 0 if each value has a unit
	device int   // the device in the name: 1 in "gpu1_memory_used_mb"; -1 if none
	first  bool  // this is the first of the device's columns
	dotted bool  // the name is one of nvidia-smi's, such as memory.used
	// withUnit is set for a column of memory once a row had a unit in it.
	withUnit bool
	// known is set for a column of times or of kind csvOther, once a row had a value in it.
	// number says what this value was: a time in a column of times, or a number in the other
	// columns, see hasForm.
	known, number bool
}

// A csvKind is what a column holds.
type csvKind uint8

const (
	csvOther   csvKind = iota
	csvText            // a name, in which there may be commas
	csvMemory          // an amount of memory
	csvIndex           // a device's number
	csvID              // a device's UUID or bus id
	csvTimes           // a time
	csvPID             // a process's number
	csvProcess         // a process's name
)

// isColumnName reports whether a field can name a column: "memory.used [MiB]", "gpu_util(%)", "GPU
// 0 - Memory Used (MB)".
func isColumnName(name []byte) bool {
	if len(name) == 0 || len(name) > 64 || name[0]|0x20 < 'a' || name[0]|0x20 > 'z' {
		return false
	}
	for _, c := range name {
		if c < 0x80 && !lex.IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') &&
			strings.IndexByte(" ._-/%()[]#:", c) < 0 {
			return false
		}
	}
	return true
}

// columnWords returns the words of a column's name, in lower case: "memory", "used", "mib".
func columnWords(name []byte) []string {
	var words []string
	var word strings.Builder
	var last rune
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range string(name) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '%':
			flush()
			last = r
			continue
		case unicode.IsDigit(r) != unicode.IsDigit(last), unicode.IsUpper(r) && unicode.IsLower(last) &&
			(r != 'B' || last != 'i'):
			flush()
		}
		word.WriteRune(unicode.ToLower(r))
		last = r
	}
	flush()
	return words
}

// hasWord reports whether one of the words is in a set, given as one text of words between
// blanks.
func hasWord(words []string, set string) bool {
	for _, w := range words {
		if strings.Contains(set, " "+w+" ") {
			return true
		}
	}
	return false
}

// The words in a column's name that say what the column holds. Blanks separate the words.
const (
	memoryWords = " memory mem vram fb "
	gpuWords    = " gpu vram cuda fb nvidia gpus "
	hostWords   = " cpu ram host system swap rss disk "
	usedWords   = " used usage use "
	freeWords   = " free available avail "
	totalWords  = " total capacity "
	// otherWords are the words of columns that hold something else than the used, free or total
	// memory of a device.
	otherWords = " cpu ram host system sys swap rss heap util utilization utilisation percent " +
		"percentage pct % ratio rate peak max min avg mean average reserved allocated cached torch " +
		"bar protected delta diff bandwidth clock shared gtt vis limit "
)

// newCSVColumn returns the column with the given name.
func newCSVColumn(name []byte) csvColumn {
	words := columnWords(name)
	c := csvColumn{device: -1}
	joined := strings.Join(words, " ")
	switch joined {
	case "":
		return c
	case "pid":
		c.kind = csvPID
		return c
	case "process name", "process":
		c.kind = csvProcess
		return c
	case "index", "idx", "gpu index", "gpu idx", "gpu id", "device", "device id", "device index",
		"card":
		c.kind = csvIndex
		return c
	case "name", "gpu name", "product name", "device name", "model", "gpu model":
		c.kind = csvText
		return c
	}
	switch {
	case hasWord(words, " uuid ") || strings.HasSuffix(joined, "bus id") ||
		strings.HasSuffix(joined, "serial"):
		c.kind = csvID
		return c
	case hasWord(words, " timestamp time date datetime "):
		c.kind = csvTimes
		return c
	case !hasWord(words, memoryWords) || hasWord(words, otherWords):
		return c
	}
	unit, behind := lex.CutUnit([]byte(words[len(words)-1]))
	if len(behind) == 0 {
		c.unit = unit
	}
	switch {
	case hasWord(words, " used "):
		c.q = record.Used
	case hasWord(words, freeWords):
		c.q = record.Free
	case hasWord(words, totalWords):
		c.q = record.Total
	case hasWord(words, usedWords) && c.unit > 0:
		c.q = record.Used
	default:
		return c
	}
	c.kind = csvMemory
	own := name
	if i := bytes.IndexAny(name, " [("); i >= 0 {
		own = name[:i]
	}
	switch string(own) {
	case "memory.used", "memory.free", "memory.total", "used_memory", "used_gpu_memory":
		c.dotted = own[6] == '.' || bytes.IndexByte(name, '[') > 0
		if i := bytes.IndexByte(name, ']'); i >= 0 && i < len(name)-1 {
			c.dotted = false // a sentence, not a name: "memory.total [MiB] as always"
		}
	}
	for i, w := range words[:len(words)-1] {
		if w == "gpu" || w == "cuda" || w == "device" || w == "card" {
			if n, rest, ok := lex.CutInt([]byte(words[i+1])); ok && len(rest) == 0 && n < maxCSVIDs {
				c.device = n
			}
		}
	}
	return c
}

// size returns the amount of memory in a field.
func (c csvColumn) size(field []byte) (s record.Size, ok bool) {
	if c.kind != csvMemory {
		return record.Size{}, false
	}
	unit := c.unit
	if unit == 0 && c.dotted {
		// nvidia-smi prints whole MiB, and its header says so. The header of another program may
		// not name the unit. If that unit were not MiB, the digits would show it.
		if n, rest, ok := lex.CutNumber(field); ok && len(rest) == 0 && n.Decimals == 0 &&
			n.Digits < 1<<20 {
			unit = record.MiB
		}
	}
	s, rest, ok := lex.CutSize(field, unit)
	return s, ok && len(rest) == 0 && s.Bytes >= 0 && lex.IsDigit(field[0])
}

// isAbsent reports whether a field means that there is no value: "[N/A]", "[Not Supported]", "N/A",
// "".
func isAbsent(f []byte) bool {
	if len(f) == 0 || f[0] == '[' && f[len(f)-1] == ']' {
		return true
	}
	switch string(f) {
	case "N/A", "n/a", "NA", "-", "nan", "NaN", "None", "null", "ERR!", "Unknown Error",
		"Not Supported", "Insufficient Permissions":
		return true
	}
	return false
}

// isSMITime reports whether a field is a time as nvidia-smi prints it: "2023/06/22 18:56:56.252".
func isSMITime(f []byte) bool {
	if len(f) != 23 || f[4] != '/' || f[19] != '.' {
		return false
	}
	return !stamp.Parse(f).IsZero()
}

// isDeviceID reports whether a field is a UUID or a bus id: "GPU-4d9f...", "00000000:01:00.0".
func isDeviceID(f []byte) bool {
	return bytes.HasPrefix(f, []byte("GPU-")) || len(busID(f)) == len(f) && len(f) > 0
}

// busID returns the first PCI bus id in a text: "00000000:01:00.0", "0000:05:00.0".
func busID(text []byte) []byte {
	isHex := func(c byte) bool { return lex.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
	for i := range text {
		if text[i] != ':' || i < 4 || i+7 >= len(text) || text[i+3] != ':' || text[i+6] != '.' {
			continue
		}
		from := i
		for from > 0 && i-from < 8 && isHex(text[from-1]) {
			from--
		}
		if i-from >= 4 && isHex(text[i+1]) && isHex(text[i+2]) && isHex(text[i+4]) && isHex(text[i+5]) &&
			isHex(text[i+7]) {
			return text[from : i+8]
		}
	}
	return nil
}
