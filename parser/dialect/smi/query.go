package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

const (
	querySection = "Memory Usage"
	queryProcess = "Used GPU Memory"
	queryHead    = "NVSMI LOG"
)

// readSMIQuery reads the text of nvidia-smi -q, or the lines of it that grep left. Each device
// follows its bus id. Devices are numbered in the order in which these ids appear:
//
//	==============NVSMI LOG==============
//	Timestamp                                 : Fri Nov 20 02:00:03 2026
//	GPU 00000000:01:00.0
//	    FB Memory Usage
//	        Total                             : 49140 MiB
//	        Reserved                          : 569 MiB
//	        Used                              : 0 MiB
//	        Free                              : 48571 MiB
//	    Processes
//	        Process ID                        : 1234
//	            Type                          : C
//	            Name                          : python
//	            Used GPU Memory               : 5678 MiB
//
// "Reserved" is the driver's own memory. The memory of BAR1 is a window and not counted. Drivers
// before 304 wrote "Memory Usage".
func readSMIQuery(l *scan.Line, at int) (end int) {
	switch text := l.Text[at:]; {
	case bytes.HasPrefix(text, []byte(queryHead)):
		if at == 0 || l.Text[at-1] != '=' {
			return 0
		}
		if _, ok := l.Opened().(*smiQuery); !ok {
			l.Open(&smiQuery{})
		}
		return len(l.Text)
	case bytes.HasPrefix(text, []byte(queryProcess)):
		return readQueryProcess(l, at)
	}
	return readQuerySection(l, at)
}

// maxQueryDevices is the most devices of a log that get a number of their own.
const maxQueryDevices = 64

// An smiQuery holds what earlier lines of nvidia-smi -q say: the device and the section of the
// current line.
type smiQuery struct {
	devices []string // their bus ids
	device  int
	column  int    // offset of "GPU" in the lines that name devices
	mig     []byte // number of the MIG device
	inMIG   bool   // the current lines are about a MIG device
	date    smiDate
}

// Row implements [scan.Table]. It takes no line for a row; it only notes what each line says.
func (q *smiQuery) Row(l *scan.Line) bool {
	text := bytes.TrimRight(l.Text, " ")
	if len(text) > maxRow {
		return false
	}
	if i := bytes.Index(text, []byte("Timestamp  ")); i >= 0 {
		q.date = findDate(text[i:])
	}
	if i := bytes.Index(text, []byte("GPU 0")); i >= 0 {
		if bus := busID(text[i:]); len(bus) > 0 && i+len("GPU ")+len(bus) == len(text) {
			q.column, q.inMIG = i, false
			q.device = q.number(string(bus))
		}
	}
	if bytes.HasSuffix(text, []byte("    MIG Device")) {
		q.inMIG, q.mig = true, nil
	}
	if key, value, ok := queryField(text); ok && q.inMIG && q.mig == nil && string(key) == "Index" {
		q.mig = append(q.mig, value...)
	}
	return false
}

// number returns the number of the device with a bus id.
func (q *smiQuery) number(bus string) int {
	for i, known := range q.devices {
		if known == bus {
			return i
		}
	}
	if len(q.devices) < maxQueryDevices {
		q.devices = append(q.devices, bus)
		return len(q.devices) - 1
	}
	return maxQueryDevices
}

// queryField returns the key and the value of a line such as " Used : 0 MiB".
func queryField(text []byte) (key, value []byte, ok bool) {
	key, value, ok = bytes.Cut(text, []byte(" : "))
	if !ok {
		return nil, nil, false
	}
	key = bytes.TrimRight(key, " ")
	if i := bytes.LastIndex(key, []byte("  ")); i >= 0 {
		key = key[i+2:]
	}
	return key, bytes.TrimSpace(value), true
}

// readQuerySection reads a device's memory in the lines under its heading, "FB Memory Usage".
func readQuerySection(l *scan.Line, at int) (end int) {
	heading := bytes.TrimRight(l.Text, " ")
	if len(heading) != at+len(querySection) {
		return 0
	}
	if rest, cut := bytes.CutSuffix(heading[:at], []byte("FB ")); cut {
		heading = rest
	} else if heading = heading[:at]; len(heading) > 0 && heading[len(heading)-1] != ' ' &&
		heading[len(heading)-1] != '\t' {
		return 0
	}
	if before := bytes.TrimRight(heading, " "); len(before) > 0 &&
		!bytes.ContainsAny(before[len(before)-1:], ":|") {
		return 0 // "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"
	}
	var reading record.Reading
	fields := 0
	for n := 1; n <= 5; n++ {
		text, ok := l.Peek(n)
		if !ok {
			break
		}
		key, value, ok := queryField(text)
		if !ok {
			break
		}
		q, known := map[string]record.Quantity{
			"Total": record.Total, "Used": record.Used,
			"Free": record.Free,
		}[string(key)]
		if !known && string(key) != "Reserved" {
			break
		}
		if size, rest, ok := lex.CutSize(value, 0); ok && len(rest) == 0 && known {
			reading.Set(q, size)
		}
		fields = n
	}
	if reading.Len() == 0 {
		return 0
	}
	c := l.Checkpoint(at, "nvidia-smi")
	c.Sampled, c.Reading = true, reading
	if q, ok := l.Opened().(*smiQuery); ok {
		c.Lane.Device = q.device
		q.date.setTime(c)
		if q.inMIG && len(heading) >= q.column+8 {
			used, known := reading.Get(record.Used)
			c.Reading = record.Reading{}
			if c.Set(record.Buffer, used); !known {
				l.Undo()
			}
			c.Name = l.Str(append([]byte("MIG device "), q.mig...))
		}
	}
	for range fields {
		l.Next()
	}
	return len(l.Text)
}

// readQueryProcess reads the memory of a process. The lines above give the process's number and
// its name.
func readQueryProcess(l *scan.Line, at int) (end int) {
	key, value, ok := queryField(l.Text)
	if !ok || string(bytes.TrimSpace(key)) != queryProcess {
		return 0
	}
	size, rest, ok := lex.CutSize(value, 0)
	if !ok || len(rest) > 0 {
		return 0
	}
	var pid, name, kind []byte
	for n := 1; n <= 6 && pid == nil; n++ {
		text, ok := l.Previous(n)
		if !ok {
			break
		}
		key, value, _ := queryField(text)
		switch string(bytes.TrimSpace(key)) {
		case "Name":
			name = value
		case "Type":
			kind = value
		case "Process ID":
			pid = value
		}
	}
	if pid == nil {
		return 0
	}
	c := l.Checkpoint(at, processName(l, pid, name))
	c.Sampled, c.PID, c.Graphics = true, processID(pid), string(kind) == "G"
	c.Set(record.Buffer, size)
	if q, ok := l.Opened().(*smiQuery); ok {
		c.Lane.Device = q.device
		q.date.setTime(c)
	}
	return len(l.Text)
}
