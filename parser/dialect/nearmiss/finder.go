package nearmiss

import (
	"bytes"
	"unicode/utf8"

	"vramsoak/parser/search"
	"vramsoak/parser/source"
)

// A Line is a line that looks like a reading of GPU memory.
type Line struct {
	Number int    // of the line in the log, from 1
	Text   string // the line without terminal escapes, or a piece of it that ends with '\r'
	YAML   string // a file with a dialect that reads the line, or "" if none was found
}

// Limits of a Finder. What lies beyond them is not searched.
const (
	sizeMax  = 64 << 20 // bytes of a log
	lineMax  = 4 << 10  // bytes of a line
	triesMax = 2_000    // lines with a word for memory
)

// words are texts, one of which is in each line that may be a reading. Each has at least
// [search.MinNeedle] bytes.
var words = []string{
	"emory", "EMORY", "memor", "MEMOR", "Memor", "VRAM", "vram", "Vram",
	"lloc", "LLOC", "gpu_mem", "GPU_", "GPU ", "GPU:", "GPU=", "gpu ", "gpu:", "gpu_", "gpu=",
	"cuda", "CUDA", "mem_", "mem:", "mem=", "mem ", "MEM:", "Mem:", "_mem",
	`mem"`, `gpu"`,
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
}

// Write implements io.Writer. It never fails.
func (f *Finder) Write(p []byte) (int, error) {
	n := len(p)
	if f.set == nil {
		f.set = search.New([][]string{words})
	}
	for len(p) > 0 && f.written < sizeMax && f.tries < triesMax {
		if len(f.line) == 0 { // skip the lines without a word
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
	if at, _, _ := f.set.Next(line, 0); at < 0 {
		return
	}
	for piece := range bytes.FieldsFuncSeq(line, func(r rune) bool { return r == '\r' }) {
		text := source.Unwrapped(piece)
		if f.tries++; !utf8.Valid(text) {
			continue
		}
		c := judge(text)
		if c.score > f.best.score {
			f.best = c
			f.found = Line{Number: f.number, Text: string(text)}
		}
	}
}

// Line returns the line that looks most like a reading. If several look alike, it is the first one.
// ok is false if no line looks like one.
func (f *Finder) Line() (line Line, ok bool) {
	if len(f.line) > 0 {
		f.end()
	}
	if f.best.score > 0 && f.found.YAML == "" {
		f.found.YAML = f.best.dialect(f.found.Text)
	}
	return f.found, f.best.score > 0
}
