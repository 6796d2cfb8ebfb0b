package parser

import "bytes"

// oumiDialect is that of oumi (src/oumi/utils/torch_utils.py and device_utils.py):
//
//	device(0)='NVIDIA A100-SXM-64GB' Capability: (8, 0) Memory: [Total: 63.42GiB Free: 62.36GiB Allocated: 0.0GiB Cached: 0.0GiB]
//	GPU Metrics Before Training: GPU runtime info: NVidiaGpuRuntimeInfo(device_index=0, device_count=4, used_memory_mb=4034.0, ...
//	GPU memory occupied before cleanup: 4034.0 MiB
//	Memory after cleanup: 1034.0 MiB
//	Peak GPU memory usage: 12.34 GB
//
// The gibibytes are rounded to two digits and printed without zeros at the end; the mebibytes are rounded down.
var oumiDialect = dialect{
	name: "oumi",
	needles: []string{
		" Memory: [Total: ", "NVidiaGpuRuntimeInfo(", "GPU memory occupied before cleanup: ", "Memory after cleanup: ",
		"Peak GPU memory usage: ",
	},
	read: readOumi,
}

func readOumi(l *line, at int) (end int) {
	text := l.text[at:]
	if rest, ok := cutPrefix(text, " Memory: [Total: "); ok {
		return readOumiDevice(l, at, rest)
	}
	if rest, ok := cutPrefix(text, "NVidiaGpuRuntimeInfo("); ok {
		return readOumiRuntime(l, at, rest)
	}
	if rest, ok := cutPrefix(text, "Peak GPU memory usage: "); ok {
		size, rest, ok := cutSize(rest, 0)
		if !ok {
			return 0
		}
		c := l.checkpoint(at, "peak memory")
		c.Sampled = true
		c.Set(Peak, size)
		return len(l.text) - len(rest)
	}
	name := "Before Cleanup"
	rest, ok := cutPrefix(text, "GPU memory occupied before cleanup: ")
	if !ok {
		name = "After Cleanup"
		rest, _ = cutPrefix(text, "Memory after cleanup: ")
	}
	n, rest, ok := cutNumber(rest)
	rest, found := cutPrefix(rest, " MiB")
	size, fits := floored(n, MiB)
	if !ok || !found || !fits || n.digits < 0 {
		return 0
	}
	c := l.checkpoint(at, name)
	c.Set(Used, size)
	return len(l.text) - len(rest)
}

func readOumiDevice(l *line, at int, rest []byte) (end int) {
	var r Reading
	torn := false
	for _, field := range []struct {
		q    Quantity
		next string
	}{{Total, "GiB Free: "}, {Free, "GiB Allocated: "}, {Allocated, "GiB Cached: "}, {Reserved, "GiB]"}} {
		n, behind, ok := cutNumber(rest)
		size, fits := n.rounded(2).times(GiB)
		tail, found := cutPrefix(behind, field.next)
		if torn = !ok || !found || !fits; torn {
			break
		}
		r.Set(field.q, size)
		rest = tail
	}
	if r.Len() == 0 {
		return 0
	}
	c := l.checkpoint(at, "device")
	c.Sampled, c.Reading = true, r
	if i := bytes.LastIndex(l.text[:at], []byte("device(")); i >= 0 {
		if n, behind, ok := cutInt(l.text[i+len("device("):]); ok && len(behind) > 0 && behind[0] == ')' {
			c.Lane.Device = n
		}
	}
	if torn {
		l.bad(len(l.text)-len(rest), "a size such as 63.42GiB and the other fields", "the line was cut, or torn by another writer")
	}
	return len(l.text) - len(rest)
}

func readOumiRuntime(l *line, at int, rest []byte) (end int) {
	rest = rest[:min(len(rest), 512)]
	_, used, ok := bytes.Cut(rest, []byte("used_memory_mb="))
	n, _, isNumber := cutNumber(used)
	size, fits := floored(n, MiB)
	if !ok || !isNumber || !fits || n.digits < 0 {
		return 0
	}
	// "GPU Metrics Before Training: GPU runtime info: "
	name := "GPU runtime info"
	if _, place, ok := bytes.Cut(l.text[:at], []byte("GPU Metrics ")); ok {
		if place, _, ok = bytes.Cut(place, []byte(":")); ok && len(place) < 64 {
			name = l.str(place)
		}
	}
	c := l.checkpoint(at, name)
	c.Sampled = name == "GPU runtime info"
	c.Set(Used, size)
	if _, index, ok := bytes.Cut(rest, []byte("device_index=")); ok {
		if device, _, ok := cutInt(index); ok {
			c.Lane.Device = device
		}
	}
	return len(l.text)
}
