package smi

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/stamp"
)

// CSV reads what nvidia-smi prints with --format=csv, and similar tables of other programs. Rows
// follow a header that names the columns, in any order, and the unit of each. The header may be
// repeated in every poll:
//
//	timestamp, index, name, pci.bus_id, utilization.gpu [%], memory.used [MiB],
//	    memory.free [MiB], memory.total [MiB]
//	2023/06/22 18:56:56.252, 0, NVIDIA GeForce RTX 2070, 00000000:01:00.0, 22 %,
//	    841 MiB, 7140 MiB, 8192 MiB
//	pid, process_name, used_gpu_memory [MiB]
//	2123797, /opt/conda/envs/aucum/bin/python, 1826 MiB
//	timestamp,gpu_util(%),memory_used(MB),memory_total(MB),memory_util(%),temperature(C)
//	1747068123.41,37,2210.94,15360.00,14.39,61
//	device,VRAM Total Memory (B),VRAM Total Used Memory (B)
//	card0,17163091968,10485760
//
// Each row is one reading of a device, or of one process on it. "[N/A]", "[Not Supported]" and the
// like give no reading. memory.reserved is left out: it is memory that the driver keeps for itself,
// not PyTorch's reserved.
//
// A device's number is its index. Without an index, UUIDs or bus ids are numbered in the order in
// which they appear. For rows with neither see [csvHead.device].
//
// Rows without a header, as --format=csv,noheader prints them, do not say whether the memory is
// used, free or the total:
//
//	2 %, 588 MiB
//
// They give one error for each log, and no readings. If such a log has no units either, only
// [FindHeadless] finds its rows.
var CSV = scan.Dialect{
	Name: "nvidia-smi-csv",
	Needles: []string{
		"memory.used", "memory.free", "memory.total", "used_memory", "used_gpu_memory",
		"memory_used", "memory_free", "memory_total", "mem_used", "mem_free", "mem_total", "vram_used",
		"vram_free", "vram_total",
		"memory_usage", "mem_usage", "vram_usage", "memoryUsed", "memoryFree", "memoryTotal",
		"Memory Used", "Memory Free", "Memory Total", "Memory_Used", "Memory_Free", "Memory_Total",
		"Memory Usage",
		"Used Memory", "Free Memory", "Total Memory", "VRAM Used", "VRAM Total", "memory used",
		"memory free", "memory total",
		mebibytes, percentage,
	},
	Read: readCSV,
}

var comma = []byte{','}

const (
	mebibytes    = " MiB"
	percentage   = " %, "
	maxCSVRow    = 4 << 10 // longest row, in bytes
	maxCSVFields = 64
	maxCSVName   = 96  // longest name of a column with what a logger puts before it, in bytes
	maxCSVHeads  = 4   // headers of a log that are remembered, because their rows may alternate
	maxCSVIDs    = 256 // devices that get a number by their UUID or bus id
)

// readCSV reads a header, or adds an error for a row without one.
func readCSV(l *scan.Line, at int) (end int) {
	if len(l.Text) > maxCSVRow {
		return 0
	}
	if l.Text[at] == ' ' {
		if before := l.Text[:at]; bytes.Contains(before, []byte(mebibytes)) ||
			bytes.Contains(before, []byte(percentage)) {
			return 0 // an earlier needle has read this line
		}
		return readHeadless(l, at)
	}
	if !leadsHeader(l.Text, at) {
		return 0
	}
	h := loggedHead(l, at)
	if h == nil || h.blind {
		return 0
	}
	t := openTables(l)
	t.noteHeadless(l, h)
	t.begin(l, h)
	return len(l.Text)
}

// begin notes that the rows of a header follow this line.
func (t *csvTables) begin(l *scan.Line, h *csvHead) {
	i := slices.IndexFunc(t.heads, h.isSame)
	if i >= 0 {
		h = t.heads[i]
		t.heads = slices.Delete(t.heads, i, i+1)
	}
	t.heads = slices.Insert(t.heads, 0, h)
	t.heads = t.heads[:min(len(t.heads), maxCSVHeads)]
	h.begin(l)
}

// csvTables holds the headers of a log, the last one first. Rows are read with these headers.
type csvTables struct {
	heads []*csvHead
	// ids maps UUIDs and bus ids to device numbers.
	ids      map[string]int
	next     [2]int // number of the next UUID and of the next bus id
	headless bool   // the error for rows without a header was added
	rows     bool   // a row was read
	mixed    bool   // the error for rows that fit two headers was added
}

// openTables returns the csvTables of the log, and makes them if the log has none yet.
func openTables(l *scan.Line) *csvTables {
	if t, ok := l.Opened().(*csvTables); ok {
		return t
	}
	t := &csvTables{ids: map[string]int{}}
	l.Open(t)
	return t
}

// Row implements [scan.Table].
func (t *csvTables) Row(l *scan.Line) bool {
	if len(l.Text) > maxCSVRow || len(l.Text) == 0 {
		return false
	}
	commas := bytes.Count(l.Text, comma)
	if commas == 0 && !slices.ContainsFunc(t.heads,
		func(h *csvHead) bool { return len(h.columns) == 1 }) {
		return false
	}
	if t.gluedHead(l) || t.blindHead(l) {
		return true
	}
	whole := csvRow{l.Text, splitCSV(l.Text)}
	var rows [maxCSVHeads]csvRow // one for each header
	for i, h := range t.heads {
		if rows[i].text = h.body(l.Text); len(rows[i].text) == len(l.Text) {
			rows[i] = whole
		} else {
			rows[i].spans = splitCSV(rows[i].text)
		}
	}
	for _, merge := range []bool{false, true} {
		for i, h := range t.heads {
			if merge != (len(rows[i].spans) > len(h.columns)) {
				continue
			}
			if i > 0 && l.Unfinished() { // the row may be the beginning of a longer one
				break
			}
			fields, ok := h.fit(l, rows[i])
			if !ok {
				continue
			}
			if h.blind && slices.ContainsFunc(t.heads[i+1:], func(o *csvHead) bool {
				_, fits := o.cut(rows[i])
				return fits && !o.blind
			}) {
				t.confused(l)
			}
			h.read(l, t, fields)
			return true
		}
	}
	for _, h := range t.heads {
		if row, ok := h.behindLogger(l, whole.spans); ok {
			if fields, ok := h.fit(l, row); ok {
				h.setPrefix(l.Text[:len(l.Text)-len(row.text)])
				h.read(l, t, fields)
				return true
			}
		}
	}
	for i, h := range t.heads {
		if h.isTornRow(rows[i]) {
			t.tear(l, "a row of "+strconv.Itoa(len(h.columns))+" columns, as in the header")
			return true
		}
	}
	return false
}

// confused adds an error for a row that fits the header of a table without memory, and also the
// header of a table with memory above it. It does so only once in a log.
func (t *csvTables) confused(l *scan.Line) {
	if !t.mixed {
		t.mixed = true
		l.Bad(0, "rows that differ from those of the other table in this log",
			"such rows are left out; give each nvidia-smi a log of its own, or run it without nounits")
	}
}

// read reads a row that fits the header. A row that was cut off in a number gives no reading.
func (h *csvHead) read(l *scan.Line, t *csvTables, fields [][]byte) {
	switch {
	case h.lacksUnit(l, fields):
		t.tear(l, "memory with its unit, such as 841 MiB, as in the other rows")
		return
	case l.Unfinished() && !h.isWhole(fields):
		t.tear(l, "a line break behind the row, which shows that its last number is whole")
		return
	}
	h.noteLast(l)
	h.add(l, t, fields)
	h.fresh, t.rows = false, true
}

// tear adds an error for a row that was cut off. If the log ends in the row, this is usual, because
// the program may still write it. Then only a log without any whole row gives an error.
func (t *csvTables) tear(l *scan.Line, expected string) {
	if !l.Unfinished() {
		l.Bad(0, expected, record.TornAdvice)
	} else if !t.rows {
		l.Bad(0, expected, "the log ends in its first row; let the program write more rows")
	}
}

// add adds the readings of a row, one for each device that the columns name.
func (h *csvHead) add(l *scan.Line, t *csvTables, fields [][]byte) {
	device, ok := h.device(l, t, fields)
	if !ok {
		l.Bad(0, "the number of a device, below 256, or its whole id", deviceAdvice)
		return
	}
	if h.process >= 0 || h.pid >= 0 {
		var pid, name []byte
		if h.pid >= 0 {
			pid = fields[h.pid]
		}
		if h.process >= 0 {
			name = fields[h.process]
		}
		for i, col := range h.columns {
			if size, ok := col.size(fields[i]); ok && col.q == record.Used {
				c := l.Checkpoint(len(l.Text), processName(l, pid, name))
				c.Lane.Device, c.Sampled, c.PID = device, true, processID(pid)
				c.Set(record.Buffer, size)
				h.setTime(c, fields)
				return
			}
		}
		return
	}
	for first, col := range h.columns {
		if !col.first {
			continue
		}
		c := l.Checkpoint(len(l.Text), h.name)
		c.Sampled = true
		if c.Lane.Device = device; col.device >= 0 {
			c.Lane.Device = col.device
		}
		for i := first; i < len(h.columns); i++ {
			if size, ok := h.columns[i].size(fields[i]); ok && h.columns[i].device == col.device {
				c.Set(h.columns[i].q, size)
			}
		}
		if c.Len() == 0 {
			l.Undo()
			continue
		}
		h.setTime(c, fields)
	}
}

// setTime sets the time of a reading to the time in its row, unless the line gives another time.
func (h *csvHead) setTime(c *record.Checkpoint, fields [][]byte) {
	if h.time < 0 || !c.Time.IsZero() {
		return
	}
	if t := stamp.Find(fields[h.time]); !t.IsZero() {
		t.Into(&c.Header)
	}
}

// csvTime returns the time in a field: a time of day, with or without a date, or seconds since
// 1970.
func csvTime(b []byte) (t time.Time, ok bool) {
	s := stamp.Find(b)
	return s.Time, !s.IsZero()
}
