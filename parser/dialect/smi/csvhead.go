package smi

import "bytes"

// A csvHead is the header of a table of memory readings, and where its rows have come to.
type csvHead struct {
	text    string // without what a wrapper puts before it
	mark    string // what ends that in every line: ": ", or "" where there is nothing
	name    string // of the readings
	columns []csvColumn
	// The places of columns, -1 where there is none.
	index, time, pid, process int
	ids                       []int // columns of UUIDs and bus ids
	// last is the header's last line or row: what follows it is a row with less evidence than elsewhere.
	last []byte
	poll csvPoll
}

// leadsHeader says that a needle stands in a column's name for an amount of memory, the line's first such. It looks back
// no further than to the one before, so that a line of many costs no more than its length.
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

// columnName is a column's name without quotes around it, and the first one's without what a wrapper puts before a line.
func columnName(field []byte, first bool) []byte {
	field = bytes.TrimSpace(field)
	if first {
		field = field[len(wrapperMark(field)):]
	}
	return bytes.Trim(field, "\" \t")
}

// wrapperMark is what stands before a line: "0: ", "[default0]:", "monitor-1  | ".
func wrapperMark(field []byte) []byte {
	for _, mark := range []string{": ", "| ", "]:", "] "} {
		if i := bytes.LastIndex(field, []byte(mark)); i >= 0 && len(bytes.TrimSpace(field[i+len(mark):])) > 0 {
			return field[:i+len(mark)]
		}
	}
	return nil
}

// newCSVHead is the header that a line is, nil where it is none.
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
	// A CSV file of a program that watches the machine has its memory too, in columns with the same names.
	if memory == 0 || !dotted && (len(spans) < 2 || !gpu && !h.ofProcess() || host && !h.keepGPUColumns(spans, text)) {
		return nil
	}
	if !dotted {
		h.name = "gpu memory"
	}
	h.markFirstColumns()
	return h
}

// ofProcess says that a row is about one process: the amount in it is nvidia-smi's used_gpu_memory.
func (h *csvHead) ofProcess() bool { return h.pid >= 0 && h.process >= 0 }

// named drops the columns of memory that do not say that they are a GPU's, and says whether any is left.
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

// leaders marks the first column of each device.
func (h *csvHead) markFirstColumns() {
	seen := map[int]bool{}
	for i := range h.columns {
		if c := &h.columns[i]; c.kind == csvMemory && !seen[c.device] {
			c.first, seen[c.device] = true, true
		}
	}
}
