package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// readForge reads a line of Forge's "[Memory Management]".
func readForge(l *scan.Line, at int) (end int) {
	text := l.Text[at+len("[Memory Management] "):]
	if target, ok := lex.CutPrefix(text, "Target: "); ok {
		name, rest, ok := bytes.Cut(lex.FirstBytes(target, scan.Near), []byte(", Free GPU: "))
		if !ok || source.IsTemplate(name) {
			return 0
		}
		s, end, ok := readSize(l, at, len(l.Text)-len(target)+len(name)+len(", Free GPU: "))
		if !ok {
			return end
		}
		c := addSampled(l, at, l.Str(name), record.Lane{}, record.Free, s)
		if _, loaded, ok := bytes.Cut(rest, []byte(", GPU Loaded: ")); ok {
			if s, _, ok := lex.CutSize(loaded, 0); ok && s.Bytes >= 0 {
				c.Set(record.Buffer, s)
			}
		}
		return len(l.Text)
	}
	for _, f := range forgeFields {
		rest, ok := lex.CutPrefix(text, f.label)
		if !ok {
			continue
		}
		// "Current Free GPU Memory: 5973.43 MB", earlier "Current Free GPU Memory (MB) =  5973.43".
		bare := int64(0)
		if r, ok := lex.CutPrefix(rest, " (MB) = "); ok {
			bare, rest = record.MiB, r
		} else if rest, ok = lex.CutPrefix(rest, ": "); !ok {
			return 0
		}
		s, rest, ok := lex.CutSize(rest, bare)
		if !ok || len(bytes.TrimSpace(rest)) > 0 {
			return 0
		}
		addSampled(l, at, f.name, record.Lane{}, f.q, s)
		return len(l.Text)
	}
	return 0
}

// forgeFields are the lines of "[Memory Management]" that have one size.
var forgeFields = []struct {
	label, name string
	q           record.Quantity
}{
	{"Current Free GPU Memory", "free memory", record.Free},
	{"Current Free Memory", "free memory", record.Free},
	{"Loaded to GPU", "model loaded", record.Buffer},
	{"Parameters Loaded to GPU", "model loaded", record.Buffer},
}

// readFooter reads the peaks that the web UIs show below a picture, in either form:
//
//	Torch active/reserved: 4567/5678 MiB, Sys VRAM: 7890/24576 MiB (32.1%)
//	A: 2.91 GB, R: 3.31 GB, Sys: 4.5/8 GB (56.3%)
func readFooter(l *scan.Line, at int) (end int) {
	c := record.Checkpoint{Name: "picture", Sampled: true}
	if l.Text[at] == 'T' {
		active, rest, ok := cutWhole(l.Text[at+len("Torch active/reserved: "):], '/')
		reserved, rest, ok2 := cutWhole(rest, ' ')
		rest, ok3 := lex.CutPrefix(rest, "MiB, ")
		if !ok || !ok2 || !ok3 {
			return 0
		}
		c.Set(record.Peak, active)
		c.Set(record.PeakReserved, reserved)
		end = len(l.Text) - len(rest)
		rest = bytes.TrimPrefix(rest, []byte("<wbr>"))
		if rest, ok = lex.CutPrefix(rest, "Sys VRAM: "); ok {
			used, rest, ok := cutWhole(rest, '/') // "?" if the UI does not ask the driver
			total, rest, ok2 := cutWhole(rest, ' ')
			if ok && ok2 {
				c.Set(record.Used, used)
				c.Set(record.Total, total)
				end = len(l.Text) - len(rest)
			}
		}
		c.Header = l.Header(at)
		l.Add(c)
		return end
	}
	// The needle is " GB, Sys: ", and "A: 2.91 GB, R: 3.31" precedes it.
	i := bytes.LastIndex(l.Text[max(0, at-40):at], []byte("A: "))
	if i < 0 {
		return 0
	}
	active, rest, ok := lex.CutSize(l.Text[max(0, at-40)+i+len("A: "):], 0)
	rest, ok2 := lex.CutPrefix(rest, ", R: ")
	reserved, rest, ok3 := lex.CutSize(rest, 0)
	rest, ok4 := lex.CutPrefix(rest, ", Sys: ")
	used, rest, ok5 := lex.CutNumber(rest)
	rest, ok6 := lex.CutPrefix(rest, "/")
	total, rest, ok7 := lex.CutSize(rest, 0)
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 {
		return 0
	}
	c.Set(record.Peak, active)
	c.Set(record.PeakReserved, reserved)
	if s, ok := used.Times(record.GiB); ok {
		c.Set(record.Used, s)
	}
	c.Set(record.Total, total)
	c.Header = l.Header(at)
	l.Add(c)
	return len(l.Text) - len(rest)
}

// cutWhole cuts a number of MiB and the byte behind it off the beginning of the text. The program
// rounds the number up.
func cutWhole(text []byte, behind byte) (s record.Size, rest []byte, ok bool) {
	n, rest, ok := lex.CutNumber(text)
	if !ok || len(rest) == 0 || rest[0] != behind {
		return record.Size{}, text, false
	}
	s, ok = n.Times(record.MiB)
	s.Resolution = record.MiB
	return s, rest[1:], ok
}
