package smi

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// Dmon reads nvidia-smi dmon and nvidia-smi pmon. Every second, they print a row for each device
// or process. Now and then, they repeat the header. The option -s selects columns, -o adds dates
// and times, and --format csv puts commas between columns:
//
//	# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk    fb  bar1
//	# Idx     W     C     C     %     %     %     %   MHz   MHz    MB    MB
//	    0    62    27     -     7     1   100     5  6250  1710  1234    12
//	#Date       Time        gpu        pid  type    fb   command
//	#YYYYMMDD   HH:MM:SS    Idx          #   C/G    MB   name
//	 20261120   02:00:03      0       1234     C  5678   python
//
// The column fb is the memory in use, in MiB, by the device or by the process.
var Dmon = scan.Dialect{
	Name:    "nvidia-smi-dmon",
	Needles: []string{"# gpu", "#gpu", "#Date ", "#Time ", "# Date ", "# Time ", "#Date,", "#Time,"},
	Read:    readDMON,
}

// A dmonTable holds the index of each column in a header, -1 for a missing column.
type dmonTable struct {
	prefix  []byte // what a logger or a launcher puts before each line
	columns int
	gpu, fb int
	unit    int64
	pid     int
	kind    int // the process's use of the device: compute or graphics
	command int
	date    int
	time    int
	above   []byte // the header's last line or row
}

// readDMON reads a header.
func readDMON(l *scan.Line, at int) (end int) {
	if len(l.Text) > maxRow {
		return 0
	}
	words := dmonWords(l.Text[at+1:])
	place := func(name string) int {
		return slices.IndexFunc(words, func(w []byte) bool { return string(w) == name })
	}
	t := &dmonTable{
		prefix: bytes.Clone(l.Text[:at]), columns: len(words),
		gpu: place("gpu"), fb: place("fb"), unit: record.MiB,
		pid:     place("pid"),
		kind:    place("type"),
		command: place("command"), date: place("Date"), time: place("Time"),
	}
	if t.gpu < 0 || t.gpu > 2 || len(words) < 2 {
		return 0
	}
	var units [][]byte
	if below, ok := l.Peek(1); ok && len(below) <= maxRow {
		if text := t.body(below); len(text) > 0 && text[0] == '#' {
			t.above = append(t.above, below...)
			units = dmonWords(text[1:])
		}
	}
	// A sentence is no header: "# gpu is too hot". The line of units below shows a header with
	// columns of newer drivers.
	if len(units) != len(words) || string(units[t.gpu]) != "Idx" {
		for _, w := range words {
			if !slices.Contains(dmonColumns, string(w)) {
				return 0
			}
		}
	}
	if t.fb >= 0 && t.fb < len(units) {
		if unit, rest := lex.CutUnit(units[t.fb]); unit > 0 && len(rest) == 0 {
			t.unit = unit
		}
	}
	l.Open(t)
	return len(l.Text)
}

// body returns a line without the logger's prefix. Of a message with several lines, only the first
// one has the prefix. The rows and the line of units then begin with a blank or with '#'.
func (t *dmonTable) body(text []byte) []byte {
	if rest, ok := cutLike(text, t.prefix); ok {
		return rest
	}
	if len(text) > 0 && (text[0] == ' ' || text[0] == '#' || lex.IsDigit(text[0])) {
		return text
	}
	return nil
}

// dmonColumns are the columns of dmon and pmon.
var dmonColumns = []string{
	"gpu", "pwr", "gtemp", "mtemp", "temp", "sm", "mem", "enc", "dec", "jpg", "ofa", "mclk", "pclk",
	"pviol", "tviol", "fb", "bar1",
	"ccpm", "sbecc", "dbecc", "pci", "rxpci", "txpci", "pid", "type", "command", "Date", "Time",
	"nvlrx", "nvltx", "rxnvl", "txnvl",
	"gpm", "fclk", "vclk", "process", "name",
}

// dmonWords returns the words of a line between blanks or commas.
func dmonWords(text []byte) [][]byte {
	return bytes.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

// Row implements [scan.Table].
func (t *dmonTable) Row(l *scan.Line) bool {
	if t.fb < 0 || len(l.Text) > maxRow {
		return false
	}
	text := t.body(l.Text)
	words := dmonWords(text)
	if len(words) <= t.gpu || len(words) > t.columns && t.command < 0 {
		return false
	}
	device, rest, ok := lex.CutInt(words[t.gpu])
	if !ok || len(rest) > 0 {
		return false
	}
	for i, w := range words[:min(len(words), t.columns)] {
		if i != t.command && !isDMONValue(w) {
			return false
		}
	}
	before, _ := l.Previous(1)
	follows := bytes.Equal(before, t.above)
	t.above = append(t.above[:0], l.Text...)
	if len(words) < t.columns {
		if follows && !l.Unfinished() {
			l.Bad(0, "a row of "+strconv.Itoa(t.columns)+" columns, as in the header",
				record.TornAdvice)
		}
		return follows
	}
	if l.Unfinished() && t.fb == len(words)-1 {
		return true // the program may still write digits of the number
	}
	size, rest, ok := lex.CutSize(words[t.fb], t.unit)
	if !ok || len(rest) > 0 || size.Bytes < 0 {
		return true // no process runs there, or the device does not say
	}
	c := l.Checkpoint(len(l.Text)-len(text), "nvidia-smi dmon")
	c.Lane.Device, c.Sampled = device, true
	if t.pid < 0 {
		c.Set(record.Used, size)
	} else {
		var command []byte
		if t.command >= 0 {
			command = bytes.Join(words[t.command:], []byte{' '})
		}
		c.Name = processName(l, words[t.pid], command)
		c.PID, c.Graphics = processID(words[t.pid]), t.kind >= 0 && string(words[t.kind]) == "G"
		c.Set(record.Buffer, size)
	}
	if t.date >= 0 && t.time >= 0 && c.Time.IsZero() { // a time without its date is of no use
		if when, err := time.Parse("20060102 15:04:05",
			string(words[t.date])+" "+string(words[t.time])); err == nil {
			c.Time, c.Local = when, true
		}
	}
	return true
}

// isDMONValue reports whether a word is a number, "-" for no value, a time, or a type of process:
// "C+G".
func isDMONValue(w []byte) bool {
	return string(w) == "-" || lex.IsDigit(w[0]) || isProcessType(w)
}
