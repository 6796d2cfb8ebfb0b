package smi

import "bytes"

// A csvHead is the header of a table of memory readings. It also holds what is known from the
// rows read so far.
type csvHead struct {
	text   string // the header without the text that a wrapper puts before it
	prefix []byte // what a logger or a launcher puts before each line
	// labelled is set if the prefix names the process that prints the lines.
	labelled bool
	// blind is set for a table of nvidia-smi without memory. Its rows are known, so that they are
	// not taken for the rows of another table.
	blind   bool
	mark    string // the end of the wrapper's text in every line: ": ", or ""
	name    string // the name of the readings
	columns []csvColumn
	// The index of each of these columns; -1 if the header lacks it.
	index, time, pid, process int
	// gpu is the index of a column with the name "gpu" that holds the device's number, -1 if none.
	gpu int
	ids []int // columns of UUIDs and bus ids
	// last is the last line of the table: its header or a row. A line that follows it directly is
	// taken for a row with less evidence.
	last  []byte
	poll  csvPoll
	fresh bool // no row has been read since the header
	bare  bool // the row above lacks a unit, see lacksUnit
}

// leadsHeader reports whether the needle at the offset `at` is in the first column of memory in
// the line. It looks back only to the previous column of memory. So the time for a line with many
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

// columnName returns a column's name without quotes. If it is the first column, columnName also
// removes the text of a wrapper before the name.
func columnName(field []byte, first bool) []byte {
	field = bytes.TrimSpace(field)
	if first {
		field = field[len(wrapperMark(field)):]
	}
	return bytes.Trim(field, "\" \t")
}

// wrapperMark returns the text at the beginning of the first column that a wrapper put before the
// line: "0: ", "[default0]:", "monitor-1 | ".
func wrapperMark(field []byte) []byte {
	for _, mark := range []string{": ", "| ", "]:", "] "} {
		if i := bytes.LastIndex(field, []byte(mark)); i >= 0 &&
			len(bytes.TrimSpace(field[i+len(mark):])) > 0 {
			return field[:i+len(mark)]
		}
	}
	return nil
}

// newCSVHead returns the header that a line gives, or nil if the line is not a header.
func newCSVHead(text []byte) *csvHead {
	spans := splitCSV(text)
	if len(spans) == maxCSVFields {
		return nil
	}
	h := &csvHead{name: "nvidia-smi", index: -1, time: -1, pid: -1, process: -1, gpu: -1}
	var gpu, host, dotted, busy bool
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
		busy = busy || hasWord(words, " util utilization utilisation ")
		if len(words) == 1 && words[0] == "gpu" {
			h.gpu = i
		}
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
	if memory == 0 && len(spans) > 1 && h.isOther(spans, text) {
		h.blind = true
		return h
	}
	// A program that watches the whole machine may have host memory in columns with the same names.
	if memory == 0 || !dotted && (len(spans) < 2 || !gpu && !h.ofProcess() ||
		host && !h.keepGPUColumns(spans, text)) {
		return nil
	}
	if !dotted {
		h.name = "gpu memory"
	}
	if h.gpu > 0 && !busy || host {
		h.gpu = -1 // this may be how busy the device is: "time,cpu,gpu,gpu_memory_used_mb"
	}
	h.markFirstColumns()
	return h
}

// isOther reports whether a header without memory is one of nvidia-smi, such as "timestamp, index,
// utilization.gpu [%]".
func (h *csvHead) isOther(spans [][2]int, text []byte) bool {
	if h.time < 0 && h.index < 0 && len(h.ids) == 0 {
		return false
	}
	for _, span := range spans {
		name := text[span[0]:span[1]]
		for _, group := range []string{"utilization.", "temperature.", "power.", "clocks.", "fan."} {
			if bytes.HasPrefix(name, []byte(group)) {
				return true
			}
		}
	}
	return false
}

// ofProcess reports whether a row is about one process, as with nvidia-smi's used_gpu_memory.
func (h *csvHead) ofProcess() bool { return h.pid >= 0 && h.process >= 0 }

// keepGPUColumns drops the columns of memory whose names do not name a GPU. It reports whether
// any column of memory is left.
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
