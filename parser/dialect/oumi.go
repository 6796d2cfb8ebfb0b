package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// oumiDialect is that of oumi (src/oumi/utils/torch_utils.py and device_utils.py):
//
//	device(0)='NVIDIA A100-SXM-64GB' Capability: (8, 0) Memory: [Total: 63.42GiB Free: 62.36GiB Allocated: 0.0GiB Cached: 0.0GiB]
//	GPU Metrics Before Training: GPU runtime info: NVidiaGpuRuntimeInfo(device_index=0, device_count=4, used_memory_mb=4034.0, ...
//	GPU memory occupied before cleanup: 4034.0 MiB
//	Memory after cleanup: 1034.0 MiB
//	Peak GPU memory usage: 12.34 GB
//
// The gibibytes are rounded to two digits and printed without zeros at the end; the mebibytes are
// rounded down.
var oumiDialect = scan.Dialect{
	Name: "oumi",
	Needles: []string{
		" Memory: [Total: ",
		"NVidiaGpuRuntimeInfo(",
		"GPU memory occupied before cleanup: ",
		"Memory after cleanup: ",
		"Peak GPU memory usage: ",
	},
	Read: readOumi,
}

func readOumi(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	if rest, ok := lex.CutPrefix(text, " Memory: [Total: "); ok {
		return readOumiDevice(l, at, rest)
	}
	if rest, ok := lex.CutPrefix(text, "NVidiaGpuRuntimeInfo("); ok {
		return readOumiRuntime(l, at, rest)
	}
	if rest, ok := lex.CutPrefix(text, "Peak GPU memory usage: "); ok {
		size, rest, ok := lex.CutSize(rest, 0)
		if !ok {
			return 0
		}
		c := l.Checkpoint(at, "peak memory")
		c.Sampled = true
		c.Set(record.Peak, size)
		return len(l.Text) - len(rest)
	}
	name := "Before Cleanup"
	rest, ok := lex.CutPrefix(text, "GPU memory occupied before cleanup: ")
	if !ok {
		name = "After Cleanup"
		rest, _ = lex.CutPrefix(text, "Memory after cleanup: ")
	}
	n, rest, ok := lex.CutNumber(rest)
	rest, found := lex.CutPrefix(rest, " MiB")
	size, fits := lex.Floored(n, record.MiB)
	if !ok || !found || !fits || n.Digits < 0 {
		return 0
	}
	c := l.Checkpoint(at, name)
	c.Set(record.Used, size)
	return len(l.Text) - len(rest)
}

func readOumiDevice(l *scan.Line, at int, rest []byte) (end int) {
	var r record.Reading
	torn := false
	for _, field := range []struct {
		q    record.Quantity
		next string
	}{{record.Total, "GiB Free: "}, {record.Free, "GiB Allocated: "}, {record.Allocated, "GiB Cached: "}, {record.Reserved, "GiB]"}} {
		n, behind, ok := lex.CutNumber(rest)
		size, fits := n.Rounded(2).Times(record.GiB)
		tail, found := lex.CutPrefix(behind, field.next)
		if torn = !ok || !found || !fits; torn {
			break
		}
		r.Set(field.q, size)
		rest = tail
	}
	if r.Len() == 0 {
		return 0
	}
	c := l.Checkpoint(at, "device")
	c.Sampled, c.Reading = true, r
	if i := bytes.LastIndex(l.Text[:at], []byte("device(")); i >= 0 {
		if n, behind, ok := lex.CutInt(
			l.Text[i+len("device("):],
		); ok && len(behind) > 0 &&
			behind[0] == ')' {
			c.Lane.Device = n
		}
	}
	if torn {
		l.Bad(
			len(l.Text)-len(rest),
			"a size such as 63.42GiB and the other fields",
			"the line was cut, or torn by another writer",
		)
	}
	return len(l.Text) - len(rest)
}

func readOumiRuntime(l *scan.Line, at int, rest []byte) (end int) {
	rest = rest[:min(len(rest), 512)]
	_, used, ok := bytes.Cut(rest, []byte("used_memory_mb="))
	n, _, isNumber := lex.CutNumber(used)
	size, fits := lex.Floored(n, record.MiB)
	if !ok || !isNumber || !fits || n.Digits < 0 {
		return 0
	}
	// "GPU Metrics Before Training: GPU runtime info: "
	name := "GPU runtime info"
	if _, place, ok := bytes.Cut(l.Text[:at], []byte("GPU Metrics ")); ok {
		if place, _, ok = bytes.Cut(place, []byte(":")); ok && len(place) < 64 {
			name = l.Str(place)
		}
	}
	c := l.Checkpoint(at, name)
	c.Sampled = name == "GPU runtime info"
	c.Set(record.Used, size)
	if _, index, ok := bytes.Cut(rest, []byte("device_index=")); ok {
		if device, _, ok := lex.CutInt(index); ok {
			c.Lane.Device = device
		}
	}
	return len(l.Text)
}
