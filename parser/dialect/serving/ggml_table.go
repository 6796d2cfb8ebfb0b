package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// readGGMLBreakdown reads a row of the memory breakdown, in MiB:
//
//	llama_memory_breakdown_print: | memory breakdown [record.MiB]  | total   free    self   model   context   compute    unaccounted |
//	llama_memory_breakdown_print: |   - CUDA0 (RTX 3090)    | 24135 = 1234 + (6187 =  4924 +     512 +     750) +       16713 |
//	llama_memory_breakdown_print: |   - Host                |                  439 =   225 +     136 +      77                |
func readGGMLBreakdown(l *scan.Line, at int) (end int) {
	text := l.Text[at+len("memory_breakdown_print: |   - "):]
	name, row, ok := bytes.Cut(lex.FirstBytes(text, scan.Near), []byte(" | "))
	name, _, _ = bytes.Cut(name, []byte(" "))
	device, known := ggmlDevice(name)
	if !ok || !known {
		return 0
	}
	var n [3]record.Size
	for i, before := range []string{"", "=", "+ ("} {
		rest, ok := lex.CutPrefix(lex.TrimBlanks(row), before)
		if !ok {
			return 0
		}
		var whole lex.Decimal
		if whole, row, ok = lex.CutNumber(lex.TrimBlanks(rest)); !ok {
			return 0
		}
		if n[i], ok = whole.Times(record.MiB); !ok || n[i].Bytes < 0 {
			return 0
		}
	}
	c := addSampled(l, at, "memory breakdown", record.Lane{Device: device}, record.Total, n[0])
	c.Set(record.Free, n[1])
	if n[1].Bytes+n[2].Bytes <= n[0].Bytes && !isProjection(l) {
		c.Set(record.Buffer, n[2])
	}
	return len(l.Text)
}

// isProjection reports whether the table in this line shows projected sizes. llama.cpp prints
// such a table when it fits its parameters to the device. The line before the table says so:
//
//	common_params_fit_impl: getting device memory data for initial parameters:
func isProjection(l *scan.Line) bool {
	for n := 1; n <= 20; n++ {
		before, ok := l.Previous(n)
		if !ok {
			return false
		}
		if !bytes.Contains(before, []byte("memory_breakdown_print: |")) {
			return bytes.Contains(before, []byte("fit_impl: "))
		}
	}
	return false
}

// readGGMLVRAM reads the sizes that llama.cpp of 2023 prints for all devices together:
//
//	llm_load_tensors: VRAM used           = 6340.49 MiB
//	llama_new_context_with_model: total VRAM used: 12929.52 MB (model: 12603.02 MB, context: 326.50 MB)
func readGGMLVRAM(l *scan.Line, at int) (end int) {
	from := at + len("VRAM used")
	name := "model VRAM"
	before := lex.LastBytes(l.Text[:at], 60)
	switch l.Text[at+len("VRAM ")] {
	case 'k':
		from, name = at+len("VRAM kv self = "), "KV cache"
	case 's':
		from, name = at+len("VRAM scratch buffer: "), "scratch buffer"
	default:
		rest := lex.TrimBlanks(l.Text[from:])
		if len(rest) == 0 || rest[0] != ':' && rest[0] != '=' {
			return 0
		}
		from = len(l.Text) - len(rest) + 1
		if bytes.HasSuffix(before, []byte("total ")) {
			name = "total VRAM"
		}
	}
	if bytes.LastIndex(before, []byte("llama_")) < 0 &&
		bytes.LastIndex(before, []byte("llm_load_")) < 0 {
		return 0
	}
	s, end, ok := readSize(l, at, from)
	if ok {
		addSampled(l, at, name, record.Lane{}, record.Buffer, s)
	}
	return end
}
