package parser

import "bytes"

// readGGMLBreakdown reads a row of the table of where memory went, in MiB:
//
//	llama_memory_breakdown_print: | memory breakdown [MiB]  | total   free    self   model   context   compute    unaccounted |
//	llama_memory_breakdown_print: |   - CUDA0 (RTX 3090)    | 24135 = 1234 + (6187 =  4924 +     512 +     750) +       16713 |
//	llama_memory_breakdown_print: |   - Host                |                  439 =   225 +     136 +      77                |
func readGGMLBreakdown(l *line, at int) (end int) {
	text := l.text[at+len("memory_breakdown_print: |   - "):]
	name, row, ok := bytes.Cut(firstBytes(text, near), []byte(" | "))
	name, _, _ = bytes.Cut(name, []byte(" "))
	device, known := ggmlDevice(name)
	if !ok || !known {
		return 0
	}
	var n [3]Size
	for i, before := range []string{"", "=", "+ ("} {
		rest, ok := cutPrefix(trimBlanks(row), before)
		if !ok {
			return 0
		}
		var whole decimal
		if whole, row, ok = cutNumber(trimBlanks(rest)); !ok {
			return 0
		}
		if n[i], ok = whole.times(MiB); !ok || n[i].Bytes < 0 {
			return 0
		}
	}
	c := l.part(at, "memory breakdown", Lane{Device: device}, Total, n[0])
	c.Set(Free, n[1])
	if n[1].Bytes+n[2].Bytes <= n[0].Bytes && !l.isFit() {
		c.Set(Buffer, n[2])
	}
	return len(l.text)
}

// isFit says that the table that the line is of belongs to the fitting of parameters: its head says so.
//
//	common_params_fit_impl: getting device memory data for initial parameters:
func (l *line) isFit() bool {
	for n := 1; n <= 20; n++ {
		before, ok := l.previous(n)
		if !ok {
			return false
		}
		if !bytes.Contains(before, []byte("memory_breakdown_print: |")) {
			return bytes.Contains(before, []byte("fit_impl: "))
		}
	}
	return false
}

// readGGMLVRAM reads what llama.cpp of 2023 has placed on its devices.
//
//	llm_load_tensors: VRAM used           = 6340.49 MiB
//	llama_new_context_with_model: total VRAM used: 12929.52 MB (model: 12603.02 MB, context: 326.50 MB)
func readGGMLVRAM(l *line, at int) (end int) {
	from := at + len("VRAM used")
	name := "model VRAM"
	before := lastBytes(l.text[:at], 60)
	switch l.text[at+len("VRAM ")] {
	case 'k':
		from, name = at+len("VRAM kv self = "), "KV cache"
	case 's':
		from, name = at+len("VRAM scratch buffer: "), "scratch buffer"
	default:
		rest := trimBlanks(l.text[from:])
		if len(rest) == 0 || rest[0] != ':' && rest[0] != '=' {
			return 0
		}
		from = len(l.text) - len(rest) + 1
		if bytes.HasSuffix(before, []byte("total ")) {
			name = "total VRAM"
		}
	}
	if bytes.LastIndex(before, []byte("llama_")) < 0 && bytes.LastIndex(before, []byte("llm_load_")) < 0 {
		return 0
	}
	s, end, ok := l.sizeAt(at, from)
	if ok {
		l.part(at, name, Lane{}, Buffer, s)
	}
	return end
}
