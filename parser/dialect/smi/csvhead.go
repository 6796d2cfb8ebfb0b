package smi

import "bytes"

// A csvHead is the header of a table of memory readings, with the state of reading its rows.
type csvHead struct {
	text    string // the header without the wrapper's text before it
	mark    string // the end of the wrapper's text in every line: ": ", or "" without a wrapper
	name    string // the name of the readings
	columns []csvColumn
	// The indices of columns, -1 for a missing column.
	index, time, pid, process int
	ids                       []int // columns of UUIDs and bus ids
	// last is the header's last line or row. A line that follows it directly needs less evidence to be
	// a row.
	last []byte
	poll csvPoll
}

// leadsHeader reports whether the needle at the offset `at` is in the line's first column of
// memory. It looks back only to the column of memory before, so that the time for a line with many
// needles grows only with the line's length.
func leadsHeader(text []byte, at int) bool {
	from := bytes.LastIndexByte(text[:at], ',') + 1
	end := len(text)
	if i := bytes.IndexByte(text[at:], ','); i >= 0 {
		end = at + i
	}
	if end-from > maxCSVName || newCSVColumn(columnName(text[from:end], from == 0)).kind != csvMemory {
		return false
	}
	for from > 0 {
		end = from - 1
		from = bytes.LastIndexByte(text[:end], ',') + 1
		if newCSVColumn(columnName(text[from:end], from == 0)).kind == csvMemory {
			return false
		}
	}
	return true
}

// columnName returns a column's name without quotes. The first column's name may follow the text of
// a wrapper, which is cut.
func columnName(field []byte, first bool) []byte {
	field = bytes.TrimSpace(field)
	if first {
		field = field[len(wrapperMark(field)):]
	}
	return bytes.Trim(field, "\" \t")
}

// wrapperMark returns the text that a wrapper puts before a line: "0: ", "[default0]:", "monitor-1
// | ".
func wrapperMark(field []byte) []byte {
	for _, mark := range []string{": ", "| ", "]:", "] "} {
		if i := bytes.LastIndex(field, []byte(mark)); i >= 0 &&
			len(bytes.TrimSpace(field[i+len(mark):])) > 0 {
			return field[:i+len(mark)]
		}
	}
	return nil
}

// newCSVHead returns the header in a line, or nil if the line is not a header.
func newCSVHead(text []byte) *csvHead {
	spans := splitCSV(text)
	if len(spans) == maxCSVFields {
		return nil
	}
	h := &csvHead{name: "nvidia-smi", index: -1, time: -1, pid: -1, process: -1}
	var gpu, host, dotted bool
	memory := 0
	for i, span := range spans {
		field := text[span[0]:span[1]]
		if i == 0 {
			mark := wrapperMark(field)
			h.text = string(text[span[0]+len(mark):])
			h.mark = string(mark[max(0, len(mark)-2):])
		}
		name := columnName(field, i == 0)
		if !isColumnName(name) && (i > 0 || len(name) > 0) { // pandas leaves the first one empty
			return nil
		}
		c := newCSVColumn(name)
		words := columnWords(name)
		gpu = gpu || hasWord(words, gpuWords) || c.kind == csvID
		host = host || hasWord(words, hostWords)
		switch c.kind {
		case csvMemory:
			memory++
			dotted = dotted || c.dotted
		case csvIndex:
			h.index = i
		case csvID:
			h.ids = append(h.ids, i)
		case csvTimes:
			if h.time < 0 {
				h.time = i
			}
		case csvPID:
			h.pid = i
		case csvProcess:
			h.process = i
		}
		h.columns = append(h.columns, c)
	}
	// A program that watches the whole machine may have host memory in columns with the same names.
	if memory == 0 || !dotted && (len(spans) < 2 || !gpu && !h.ofProcess() ||
		host && !h.keepGPUColumns(spans, text)) {
		return nil
	}
	if !dotted {
		h.name = "gpu memory"
	}
	h.markFirstColumns()
	return h
}

// ofProcess reports whether a row is about one process, as with nvidia-smi's used_gpu_memory.
func (h *csvHead) ofProcess() bool { return h.pid >= 0 && h.process >= 0 }

// keepGPUColumns drops the columns of memory that do not name a GPU, and reports whether any is
// left.
func (h *csvHead) keepGPUColumns(spans [][2]int, text []byte) (left bool) {
	for i, span := range spans {
		if h.columns[i].kind != csvMemory {
			continue
		}
		if hasWord(columnWords(columnName(text[span[0]:span[1]], i == 0)), gpuWords) {
			left = true
		} else {
			h.columns[i] = csvColumn{}
		}
	}
	return left
}

// markFirstColumns marks the first column of each device.
func (h *csvHead) markFirstColumns() {
	seen := map[int]bool{}
	for i := range h.columns {
		if c := &h.columns[i]; c.kind == csvMemory && !seen[c.device] {
			c.first, seen[c.device] = true, true
		}
	}
}
