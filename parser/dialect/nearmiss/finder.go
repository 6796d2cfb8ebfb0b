package nearmiss

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"vramsoak/parser/record"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
)

// A Line is a line that looks like a reading of GPU memory.
type Line struct {
	Number int    // of the line in the log, from 1
	Text   string // the line without terminal escapes, or a piece of it that ends with '\r'
	YAML   string // a file with a dialect that reads the line and those like it, or ""
	// Unclear says why there is no dialect: "its number has no unit". It is "" if there is one.
	Unclear string
}

// Limits of a Finder. What lies beyond them is not searched.
const (
	sizeMax  = 64 << 20 // bytes of a log
	lineMax  = 4 << 10  // bytes of a line
	triesMax = 2_000    // lines with a word for memory
	alikeMax = 500      // lines that may be readings and are kept
)

// words are texts. A line that may be a reading has at least one of them. Each text has at least
// [search.MinNeedle] bytes.
var words = []string{
	"emory", "EMORY", "memor", "MEMOR", "Memor", "VRAM", "vram", "Vram",
	"lloc", "LLOC", "gpu_mem", "GPU_", "GPU ", "GPU:", "GPU=", "gpu ", "gpu:", "gpu_", "gpu=",
	"cuda", "CUDA", "mem_", "mem:", "mem=", "mem ", "MEM:", "Mem:", "_mem",
	`mem"`, `gpu"`, "gpu]", "GPU]", "GPU0", "gpu0", "GPU[", "gpu[", "B free",
	"显存", "顯存", "显卡", "内存", "內存", "記憶體", "メモリ", "메모리", "амят", "peicher", "émoire",
}

// A Finder finds the line that looks most like a reading of GPU memory, in the bytes that are
// written to it. The zero value is ready to use.
type Finder struct {
	set     *search.Set
	line    []byte // the beginning of a line that was not written to its end yet
	number  int    // of complete lines
	written int    // bytes
	tries   int
	best    candidate
	found   Line
	likely  []candidate // the lines that may be readings
	header  string      // the line before, if it may be the header of a table
}

// Write implements io.Writer. It never fails.
func (f *Finder) Write(p []byte) (int, error) {
	n := len(p)
	if f.set == nil {
		f.set = search.New([][]string{words})
	}
	for len(p) > 0 && f.written < sizeMax && f.tries < triesMax {
		if len(f.line) == 0 && f.header == "" { // skip the lines without a word
			at, _, _ := f.set.Next(p, 0)
			if at < 0 {
				at = len(p)
			}
			start := bytes.LastIndexByte(p[:at], '\n') + 1
			f.number += bytes.Count(p[:start], source.Newline)
			f.written += start
			p = p[start:]
		}
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		f.line = append(f.line, piece[:min(len(piece), lineMax-min(lineMax, len(f.line)))]...)
		f.written += len(piece)
		if end < 0 {
			break
		}
		f.end()
		f.written++
		p = p[end+1:]
	}
	return n, nil
}

// end judges the line that was written to its end.
func (f *Finder) end() {
	f.number++
	line := f.line
	f.line = f.line[:0]
	if len(line) == lineMax { // the limit may have cut a character
		for range utf8.UTFMax - 1 {
			if r, n := utf8.DecodeLastRune(line); r == utf8.RuneError && n == 1 {
				line = line[:len(line)-1]
			}
		}
	}
	f.endHeader(line)
	if at, _, _ := f.set.Next(line, 0); at < 0 || bytes.HasPrefix(line, record.HarnessPrefixBytes) {
		return // it has no word of a reading, or the harness wrote it
	}
	for piece := range bytes.FieldsFuncSeq(line, func(r rune) bool { return r == '\r' }) {
		text := source.Unwrapped(piece)
		if f.tries++; !utf8.Valid(text) {
			continue
		}
		c := judge(text)
		if c.score > 0 && len(f.likely) < alikeMax {
			f.likely = append(f.likely, c)
		}
		if c.score > f.best.score {
			f.best = c
			f.found = Line{Number: f.number, Text: string(text)}
		}
		f.header = ""
		if isHeader(text) {
			f.header = string(text)
		}
	}
}

// endHeader notes a table if the line before may be its header, and this line is a row.
func (f *Finder) endHeader(line []byte) {
	header := f.header
	f.header = ""
	const score = scoreMin // any line with a label looks more like a reading
	if header == "" || f.best.score >= score ||
		strings.Count(header, ",") != bytes.Count(line, []byte(",")) {
		return
	}
	for field := range strings.SplitSeq(string(line), ",") {
		if _, err := strconv.ParseFloat(strings.TrimSpace(field), 64); err == nil {
			f.best = candidate{text: header, score: score, unclear: isTable}
			f.found = Line{Number: f.number - 1, Text: header}
			return
		}
	}
}

// isHeader reports whether a line may be the header of a table with a column for memory:
// "file,stage,allocated_mb,reserved_mb".
func isHeader(line []byte) bool {
	text := string(line)
	if strings.Count(text, ",") == 0 || strings.ContainsAny(text, "0123456789:=") {
		return false
	}
	said := sensesOf(wordsOf(text))
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field == "" || len(strings.Fields(field)) > 4 {
			return false
		}
	}
	return said&(saysMemory|saysAllocated|saysReserved) != 0 && said&saysHost == 0
}

// Line returns the line that looks most like a reading. If several look alike, it is the first one.
// ok is false if no line looks like one.
func (f *Finder) Line() (line Line, ok bool) {
	if len(f.line) > 0 {
		f.end()
	}
	if f.best.score > 0 && f.found.YAML == "" && f.found.Unclear == "" {
		f.found.YAML, f.found.Unclear = f.best.dialect(f.likely)
	}
	return f.found, f.best.score > 0
}
