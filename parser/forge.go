package parser

import "bytes"

// readForge reads a line of Forge's "[Memory Management]".
func readForge(l *line, at int) (end int) {
	text := l.text[at+len("[Memory Management] "):]
	if target, ok := cutPrefix(text, "Target: "); ok {
		name, rest, ok := bytes.Cut(firstBytes(target, near), []byte(", Free GPU: "))
		if !ok || isTemplate(name) {
			return 0
		}
		s, end, ok := l.sizeAt(at, len(l.text)-len(target)+len(name)+len(", Free GPU: "))
		if !ok {
			return end
		}
		c := l.part(at, l.str(name), Lane{}, Free, s)
		if _, loaded, ok := bytes.Cut(rest, []byte(", GPU Loaded: ")); ok {
			if s, _, ok := cutSize(loaded, 0); ok && s.Bytes >= 0 {
				c.Set(Buffer, s)
			}
		}
		return len(l.text)
	}
	for _, f := range forgeFields {
		rest, ok := cutPrefix(text, f.label)
		if !ok {
			continue
		}
		// "Current Free GPU Memory: 5973.43 MB", earlier "Current Free GPU Memory (MB) =  5973.43".
		bare := int64(0)
		if r, ok := cutPrefix(rest, " (MB) = "); ok {
			bare, rest = MiB, r
		} else if rest, ok = cutPrefix(rest, ": "); !ok {
			return 0
		}
		s, rest, ok := cutSize(rest, bare)
		if !ok || len(bytes.TrimSpace(rest)) > 0 {
			return 0
		}
		l.part(at, f.name, Lane{}, f.q, s)
		return len(l.text)
	}
	return 0
}

var forgeFields = []struct {
	label, name string
	q           Quantity
}{
	{"Current Free GPU Memory", "free memory", Free},
	{"Current Free Memory", "free memory", Free},
	{"Loaded to GPU", "model loaded", Buffer},
	{"Parameters Loaded to GPU", "model loaded", Buffer},
}

// readFooter reads the peaks that the web UIs show under a picture, in either of their forms.
func readFooter(l *line, at int) (end int) {
	c := Checkpoint{Name: "picture", Sampled: true}
	if l.text[at] == 'T' {
		active, rest, ok := cutWhole(l.text[at+len("Torch active/reserved: "):], '/')
		reserved, rest, ok2 := cutWhole(rest, ' ')
		rest, ok3 := cutPrefix(rest, "MiB, ")
		if !ok || !ok2 || !ok3 {
			return 0
		}
		c.Set(Peak, active)
		c.Set(PeakReserved, reserved)
		end = len(l.text) - len(rest)
		rest = bytes.TrimPrefix(rest, []byte("<wbr>"))
		if rest, ok = cutPrefix(rest, "Sys VRAM: "); ok {
			used, rest, ok := cutWhole(rest, '/') // "?" where the driver is not polled
			total, rest, ok2 := cutWhole(rest, ' ')
			if ok && ok2 {
				c.Set(Used, used)
				c.Set(Total, total)
				end = len(l.text) - len(rest)
			}
		}
		c.Header = l.header(at)
		l.add(c)
		return end
	}
	// "A: 2.91 GB, R: 3.31" before " GB, Sys: 4.5/8 GB (56.3%)".
	i := bytes.LastIndex(l.text[max(0, at-40):at], []byte("A: "))
	if i < 0 {
		return 0
	}
	active, rest, ok := cutSize(l.text[max(0, at-40)+i+len("A: "):], 0)
	rest, ok2 := cutPrefix(rest, ", R: ")
	reserved, rest, ok3 := cutSize(rest, 0)
	rest, ok4 := cutPrefix(rest, ", Sys: ")
	used, rest, ok5 := cutNumber(rest)
	rest, ok6 := cutPrefix(rest, "/")
	total, rest, ok7 := cutSize(rest, 0)
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 {
		return 0
	}
	c.Set(Peak, active)
	c.Set(PeakReserved, reserved)
	if s, ok := used.times(GiB); ok {
		c.Set(Used, s)
	}
	c.Set(Total, total)
	c.Header = l.header(at)
	l.add(c)
	return len(l.text) - len(rest)
}

// cutWhole cuts MiB off the text that begins with their number, and the byte behind them. They are rounded up.
func cutWhole(text []byte, behind byte) (s Size, rest []byte, ok bool) {
	n, rest, ok := cutNumber(text)
	if !ok || len(rest) == 0 || rest[0] != behind {
		return Size{}, text, false
	}
	s, ok = n.times(MiB)
	s.Resolution = MiB
	return s, rest[1:], ok
}
