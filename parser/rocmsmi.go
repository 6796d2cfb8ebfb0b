package parser

import "bytes"

// rocmSMIDialect is what rocm-smi --showmeminfo vram prints, with --json or without; its --csv is one of the tables of
// [nvidiaSMICSVDialect]:
//
//	GPU[0]		: VRAM Total Memory (B): 17163091968
//	GPU[0]		: VRAM Total Used Memory (B): 10485760
//	{"card0": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "10485760"}}
var rocmSMIDialect = dialect{
	name:    "rocm-smi",
	needles: []string{rocmTotal, rocmUsed},
	read:    readROCm,
}

const (
	rocmTotal = "Total Memory (B)"
	rocmUsed  = "Total Used Memory (B)"
)

func readROCm(l *line, at int) (end int) {
	q, size, device, end := rocmField(l.text, at)
	if end == 0 {
		return 0
	}
	c := l.checkpoint(at, "rocm-smi")
	c.Lane.Device, c.Sampled = device, true
	c.Set(q, size)
	if q == Used {
		return end
	}
	// What is used follows on the next line, or on the same one.
	text, same := l.text, true
	i := bytes.Index(text[end:min(len(text), end+64)], []byte(rocmUsed)) + end
	if i < end {
		var ok bool
		if text, ok = l.peek(1); !ok || len(text) > smiRowMax {
			return end
		}
		if i, same = bytes.Index(text, []byte(rocmUsed)), false; i < 0 {
			return end
		}
	}
	_, used, number, stop := rocmField(text, i)
	if stop == 0 || number != device && (same || number >= 0) {
		return end
	}
	c.Set(Used, used)
	if !same {
		l.next()
	}
	return stop
}

// rocmField reads a field at an offset; end is 0 where it is none of a device's memory.
func rocmField(text []byte, at int) (q Quantity, s Size, device, end int) {
	before := text[max(0, at-256):at]
	if !bytes.HasSuffix(before, []byte("VRAM ")) && !bytes.HasSuffix(before, []byte("vram ")) {
		return 0, Size{}, 0, 0
	}
	before = before[:len(before)-len("VRAM ")]
	if bytes.HasSuffix(before, []byte("VIS_")) { // the part that the host can see
		return 0, Size{}, 0, 0
	}
	rest := text[at:]
	q = Used
	if _, cut := cutPrefix(rest, rocmTotal); cut {
		q = Total
		rest = rest[len(rocmTotal):]
	} else {
		rest = rest[len(rocmUsed):]
	}
	var mark string
	rest, quoted := cutPrefix(rest, `"`)
	if mark = "GPU["; quoted {
		mark = `"card`
	}
	i := bytes.LastIndex(before, []byte(mark))
	if i < 0 || len(rest) == 0 || rest[0] != ':' {
		return 0, Size{}, 0, 0
	}
	device, _, ok := cutInt(before[i+len(mark):])
	if !ok {
		return 0, Size{}, 0, 0
	}
	n, rest, ok := cutNumber(bytes.TrimLeft(rest[1:], ` "`))
	if !ok || n.decimals > 0 || n.digits < 0 {
		return 0, Size{}, 0, 0
	}
	return q, Exact(n.digits), device, len(text) - len(rest)
}
