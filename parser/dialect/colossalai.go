package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// colossalaiDialect is Colossal-AI's: report_memory_usage of colossalai/utils/memory.py, which
// resets the peaks, and the readings of its trainers and examples. MB are 1024 * 1024 bytes:
//
//	colossalai - colossalai - INFO: After init: GPU: allocated 1024.5 MB, max allocated 2048.25 MB, cached: 2304.0 MB, ...
//	[1/10] Forward GPU memory usage: 9042.31 MB, CPU memory usage: 25123.45 MB
//	Booster init max CUDA memory: 12868.12 MB
//	Checkpoint loaded CUDA memory: 12868.12 MB
//	Max CUDA memory usage: 25736.91 MB
//
// Since 2024 the examples say "device" for "CUDA".
var colossalaiDialect = scan.Dialect{
	Name: "colossalai",
	Needles: []string{
		needleColossal,
		"GPU memory usage: ",
		"Booster init max ",
		"Checkpoint loaded ",
		"Max CUDA memory ",
		"Max device memory ",
	},
	Read: func(l *scan.Line, at int) int {
		switch l.Text[at] {
		case ':':
			return readColossalReport(l, at)
		case 'G':
			return readColossalUsage(l, at)
		}
		return readColossalExample(l, at)
	},
}

const needleColossal = ": GPU: allocated "

func readColossalReport(l *scan.Line, at int) (end int) {
	if source.IsTemplate(lex.FirstBytes(l.Text[at:], nearby)) {
		return 0
	}
	var reading record.Reading
	rest := l.Text[at:]
	for _, f := range []struct {
		label string
		q     record.Quantity
	}{{needleColossal, record.Allocated}, {", max allocated ", record.Peak}, {", cached: ", record.Reserved}, {", max cached: ", record.PeakReserved}} {
		after, known := lex.CutPrefix(rest, f.label)
		s, behind, ok := lex.CutRounded(after, 2)
		if !known || !ok {
			l.Bad(len(l.Text)-len(rest), "a size such as 1024.5 MB after \""+f.label+"\"", record.TornAdvice)
			return len(l.Text) - len(rest) + 1
		}
		reading.Set(f.q, s)
		rest = behind
	}
	// The logger's prefix ends with a level: "INFO: ".
	name := lex.LastBytes(l.Text[:at], nearby)
	for _, level := range []string{"INFO: ", "INFO - ", "] "} {
		if i := bytes.LastIndex(name, []byte(level)); i >= 0 {
			name = name[i+len(level):]
		}
	}
	c := l.Checkpoint(at, l.Str(name))
	c.Reading = reading
	return len(l.Text) - len(rest)
}

// readColossalUsage reads the line that has the process's own memory too; others say "GPU memory
// usage: " as well.
func readColossalUsage(l *scan.Line, at int) (end int) {
	s, rest, ok := lex.CutSize(l.Text[at+len("GPU memory usage: "):], 0)
	if _, known := lex.CutPrefix(rest, ", CPU memory usage: "); !ok || !known {
		return 0
	}
	c := l.Checkpoint(at, "memory")
	c.Sampled = true
	c.Set(record.Allocated, s)
	return len(l.Text) - len(rest)
}

// colossalExamples are the rest of the wordings behind the needles; the first word of a name tells
// the reading.
var colossalExamples = []struct {
	words, name string
	q           record.Quantity
}{
	{"Booster init max CUDA memory: ", "booster init", record.Peak},
	{"Booster init max device memory: ", "booster init", record.Peak},
	{"Checkpoint loaded max CUDA memory: ", "checkpoint loaded", record.Peak},
	{"Checkpoint loaded max device memory: ", "checkpoint loaded", record.Peak},
	{"Checkpoint loaded CUDA memory: ", "checkpoint loaded", record.Allocated},
	{"Checkpoint loaded device memory: ", "checkpoint loaded", record.Allocated},
	{"Max CUDA memory before data loader: ", "before data loader", record.Peak},
	{"Max CUDA memory after data loader: ", "after data loader", record.Peak},
	{"Max device memory before data loader: ", "before data loader", record.Peak},
	{"Max device memory after data loader: ", "after data loader", record.Peak},
	{"Max CUDA memory usage: ", "end of training", record.Peak},
	{"Max device memory usage: ", "end of training", record.Peak},
}

func readColossalExample(l *scan.Line, at int) (end int) {
	for _, f := range colossalExamples {
		value, known := lex.CutPrefix(l.Text[at:], f.words)
		if !known {
			continue
		}
		s, rest, ok := lex.CutSize(value, 0)
		if !ok {
			return 0
		}
		l.Checkpoint(at, f.name).Set(f.q, s)
		return len(l.Text) - len(rest)
	}
	return 0
}
