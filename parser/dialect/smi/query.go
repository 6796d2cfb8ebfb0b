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

const (
	maxQueryDevices = 64 // most devices of a log that get a number of their own
	maxQueryLines   = 16 // most lines between a section's heading and its last size
)

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
	if i, bus := queryDevice(text); len(bus) > 0 {
		q.column, q.inMIG = i, false
		q.device = q.number(string(bus))
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
		!bytes.ContainsAny(before[len(before)-1:], ":|") && l.Logger() < len(before) {
		return 0 // "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"
	}
	reading, fields := querySizes(l, heading)
	if reading.Len() == 0 {
		return 0
	}
	q, ok := queryAt(l, 0)
	if !ok {
		l.Bad(at, "above such a section the line that names its device, such as "+
			"GPU 00000000:01:00.0", deviceAdvice)
		return len(l.Text)
	}
	c := l.Checkpoint(at, "nvidia-smi")
	c.Sampled, c.Reading = true, reading
	if q != nil {
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

// querySizes returns the sizes in the lines under a section's heading. The parameter heading is the
// text before the words of the heading: blanks, and before them what a logger puts there. Other
// programs may print lines between the sizes. The parameter fields is the number of lines directly
// under the heading that give a size.
func querySizes(l *scan.Line, heading []byte) (reading record.Reading, fields int) {
	prefix := bytes.TrimRight(heading, " \t")
	for n, found := 1, 0; n <= maxQueryLines && found < 5; n++ {
		text, ok := l.Peek(n)
		if !ok {
			break
		}
		rest, isLike := cutLike(text, prefix)
		isLike = isLike && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t')
		key, value, _ := queryField(text)
		quantity, known := map[string]record.Quantity{
			"Total": record.Total, "Used": record.Used,
			"Free": record.Free,
		}[string(key)]
		if known || string(key) == "Reserved" {
			if !isLike && fields < n-1 || known && reading.Has(quantity) {
				break
			}
		} else if isLike {
			break // the next section
		} else {
			continue // a line of another program
		}
		if size, rest, ok := lex.CutSize(value, 0); ok && len(rest) == 0 && known {
			reading.Set(quantity, size)
		}
		if found++; fields == n-1 {
			fields = n
		}
	}
	return reading, fields
}

// queryAt returns what the lines above say about the device, or nil if the log has only the
// sections of one device. If the log's beginning is missing, the nearest line above that names a
// device counts. Without such a line, ok is false if more than `most` sections are just above,
// because they may be of several devices.
func queryAt(l *scan.Line, most int) (q *smiQuery, ok bool) {
	if q, ok = l.Opened().(*smiQuery); ok {
		return q, true
	}
	q = &smiQuery{}
	var index []byte // of a MIG device
	lines, sections, near := 0, 0, 0
	for text := range l.Above() {
		if lines++; lines > maxApart || sections > maxQueryLines {
			break
		}
		if len(text) > maxRow {
			continue
		}
		text = bytes.TrimRight(text, " ")
		if i, bus := queryDevice(text); len(bus) > 0 {
			q.column, q.device = i, q.number(string(bus))
			l.Open(q)
			return q, true
		}
		key, value, _ := queryField(text)
		switch {
		case string(key) == "Index":
			index = value
		case bytes.HasSuffix(text, []byte("    MIG Device")) && !q.inMIG:
			q.inMIG, q.mig = true, bytes.Clone(index)
		case bytes.HasSuffix(text, []byte("FB "+querySection)):
			if sections++; lines <= maxQueryLines/2 {
				near = sections
			}
		}
	}
	return nil, near <= most
}

// queryDevice returns the bus id in a line that names a device, and the offset of "GPU" in it.
func queryDevice(text []byte) (at int, bus []byte) {
	if at = bytes.Index(text, []byte("GPU 0")); at < 0 {
		return 0, nil
	}
	if bus = busID(text[at:]); at+len("GPU ")+len(bus) != len(text) {
		return 0, nil
	}
	return at, bus
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
	lines := 0
	for text := range l.Above() {
		if lines++; lines > maxQueryLines || pid != nil {
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
	q, ok := queryAt(l, 1)
	if !ok {
		l.Bad(at, "above such a process the line that names its device, such as "+
			"GPU 00000000:01:00.0", deviceAdvice)
		return len(l.Text)
	}
	c := l.Checkpoint(at, processName(l, pid, name))
	c.Sampled, c.PID, c.Graphics = true, processID(pid), string(kind) == "G"
	c.Set(record.Buffer, size)
	if q != nil {
		c.Lane.Device = q.device
		q.date.setTime(c)
	}
	return len(l.Text)
}
