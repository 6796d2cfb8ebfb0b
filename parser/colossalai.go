package parser

import "bytes"

// colossalaiDialect is Colossal-AI's: report_memory_usage of colossalai/utils/memory.py, which resets the peaks, and the
// readings of its trainers and examples. MB are 1024 * 1024 bytes:
//
//	colossalai - colossalai - INFO: After init: GPU: allocated 1024.5 MB, max allocated 2048.25 MB, cached: 2304.0 MB, ...
//	[1/10] Forward GPU memory usage: 9042.31 MB, CPU memory usage: 25123.45 MB
//	Booster init max CUDA memory: 12868.12 MB
//	Checkpoint loaded CUDA memory: 12868.12 MB
//	Max CUDA memory usage: 25736.91 MB
//
// Since 2024 the examples say "device" for "CUDA".
var colossalaiDialect = dialect{
	name: "colossalai",
	needles: []string{
		needleColossal, "GPU memory usage: ", "Booster init max ", "Checkpoint loaded ", "Max CUDA memory ", "Max device memory ",
	},
	read: func(l *line, at int) int {
		switch l.text[at] {
		case ':':
			return readColossalReport(l, at)
		case 'G':
			return readColossalUsage(l, at)
		}
		return readColossalExample(l, at)
	},
}

const needleColossal = ": GPU: allocated "

func readColossalReport(l *line, at int) (end int) {
	if isTemplate(firstBytes(l.text[at:], nearby)) {
		return 0
	}
	var reading Reading
	rest := l.text[at:]
	for _, f := range []struct {
		label string
		q     Quantity
	}{{needleColossal, Allocated}, {", max allocated ", Peak}, {", cached: ", Reserved}, {", max cached: ", PeakReserved}} {
		after, known := cutPrefix(rest, f.label)
		s, behind, ok := cutRounded(after, 2)
		if !known || !ok {
			l.bad(len(l.text)-len(rest), "a size such as 1024.5 MB after \""+f.label+"\"", tornAdvice)
			return len(l.text) - len(rest) + 1
		}
		reading.Set(f.q, s)
		rest = behind
	}
	// The logger's prefix ends with a level: "INFO: ".
	name := lastBytes(l.text[:at], nearby)
	for _, level := range []string{"INFO: ", "INFO - ", "] "} {
		if i := bytes.LastIndex(name, []byte(level)); i >= 0 {
			name = name[i+len(level):]
		}
	}
	c := l.checkpoint(at, l.str(name))
	c.Reading = reading
	return len(l.text) - len(rest)
}

// readColossalUsage reads the line that has the process's own memory too; others say "GPU memory usage: " as well.
func readColossalUsage(l *line, at int) (end int) {
	s, rest, ok := cutSize(l.text[at+len("GPU memory usage: "):], 0)
	if _, known := cutPrefix(rest, ", CPU memory usage: "); !ok || !known {
		return 0
	}
	c := l.checkpoint(at, "memory")
	c.Sampled = true
	c.Set(Allocated, s)
	return len(l.text) - len(rest)
}

// colossalExamples are the rest of the wordings behind the needles; the first word of a name tells the reading.
var colossalExamples = []struct {
	words, name string
	q           Quantity
}{
	{"Booster init max CUDA memory: ", "booster init", Peak},
	{"Booster init max device memory: ", "booster init", Peak},
	{"Checkpoint loaded max CUDA memory: ", "checkpoint loaded", Peak},
	{"Checkpoint loaded max device memory: ", "checkpoint loaded", Peak},
	{"Checkpoint loaded CUDA memory: ", "checkpoint loaded", Allocated},
	{"Checkpoint loaded device memory: ", "checkpoint loaded", Allocated},
	{"Max CUDA memory before data loader: ", "before data loader", Peak},
	{"Max CUDA memory after data loader: ", "after data loader", Peak},
	{"Max device memory before data loader: ", "before data loader", Peak},
	{"Max device memory after data loader: ", "after data loader", Peak},
	{"Max CUDA memory usage: ", "end of training", Peak},
	{"Max device memory usage: ", "end of training", Peak},
}

func readColossalExample(l *line, at int) (end int) {
	for _, f := range colossalExamples {
		value, known := cutPrefix(l.text[at:], f.words)
		if !known {
			continue
		}
		s, rest, ok := cutSize(value, 0)
		if !ok {
			return 0
		}
		l.checkpoint(at, f.name).Set(f.q, s)
		return len(l.text) - len(rest)
	}
	return 0
}
