package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// GGML is that of the programs on ggml: llama.cpp, whisper.cpp and stable-diffusion.cpp. MB is
// 1<<20, but for whisper.cpp, where it is 1e6 (since 1.5, the first that has buffers on a GPU).
//
// Buffers are parts, on the device that their backend is named after:
//
//	load_tensors:        CUDA2 model buffer size = 17931.70 MiB
//	llama_kv_cache:      CUDA3 KV buffer size =   320.00 MiB
//	llm_load_tensors:      CUDA0 buffer size =   647.03 MiB
//	whisper_model_load:        CUDA0 total size =   147.37 MB
//	[DEBUG] ggml_extend.hpp:1547 - unet compute buffer size: 559.88 MB(VRAM)
//	[INFO ] stable-diffusion.cpp:582 - total params memory size = 1969.78MB (VRAM 1969.78MB, RAM 0.00MB): ...
//
// Those of CPU, CPU_Mapped, CUDA_Host and the like are on the host; CUDA_Split lies across devices
// and RPC on another machine. They give nothing, and neither does a sum of buffers:
// "llama_kv_cache: size =  640.00 MiB". What a state of whisper.cpp takes is on the backend that
// was chosen just before; its compute buffers are printed with the little that they take on the
// host:
//
//	whisper_backend_init_gpu: using CUDA0 backend
//	whisper_init_state: kv self size  =   18.87 MB
//	whisper_init_state: compute buffer (conv)   =   22.42 MB
//
// Devices give their total, and what is free of it before a model is loaded:
//
//	  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes, VRAM: 48531 MiB
//	llama_model_load_from_file_impl: using device CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free
//	  CUDA0: NVIDIA GeForce RTX 3090 (24135 MiB, 23886 MiB free)
//	ggml_backend_metal_log_allocated_size: allocated buffer, size =  4096.00 MiB, ( 4096.06 / 21845.34)
//
// At the end, and with fitted parameters at the start, a table says where memory went: the device's
// total is what is free, what the program's buffers take, and what is unaccounted for. Where the
// last is less than nothing, or the table is one of the fit, the buffers are projected ones and not
// read:
//
//	llama_memory_breakdown_print: |   - CUDA0 (RTX 3090) | 24135 = 1234 + (6187 = 4924 + 512 + 750) + 16713 |
//
// Before buffers had names (2023), llama.cpp printed what it had placed on its devices together,
// which counts as device 0:
//
//	llama_model_load_internal: [cublas] total VRAM used: 17223 MB
//	llama_kv_cache_init: VRAM kv self = 256.00 MB
var GGML = scan.Dialect{
	Name: "ggml",
	Needles: []string{
		" buffer size = ", " buffer size: ", " total size = ", "total params memory size = ",
		"whisper_init_state: ", "whisper_vad_init_context: ",
		", VRAM: ", "using device ", " MiB free)", "buffer, size = ", "memory_breakdown_print: |   - ",
		"VRAM used", "VRAM kv self = ", "VRAM scratch buffer: ",
	},
	Read: readGGML,
}

func readGGML(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	starts := func(s string) bool { return len(text) >= len(s) && string(text[:len(s)]) == s }
	switch {
	case starts(" buffer size = "):
		if end := readGGMLBuffer(l, at, at+len(" buffer size = ")); end > 0 {
			return end
		}
		return readDiffusionBuffer(l, at, at+len(" buffer size = "))
	case starts(" buffer size: "):
		return readDiffusionBuffer(l, at, at+len(" buffer size: "))
	case starts(" total size = "):
		return readGGMLBuffer(l, at, at+len(" total size = "))
	case starts("total params"):
		return readDiffusionTotal(l, at)
	case starts("whisper_"):
		return readWhisperState(l, at)
	case starts(", VRAM: "):
		return readGGMLDevice(l, at)
	case starts("using device "):
		return readGGMLFree(l, at)
	case starts(" MiB free)"):
		return readGGMLListed(l, at)
	case starts("buffer, size = "):
		return readGGMLMetal(l, at)
	case starts("memory_breakdown"):
		return readGGMLBreakdown(l, at)
	}
	return readGGMLVRAM(l, at)
}

// ggmlBackends are the backends that are named after devices.
var ggmlBackends = []string{
	"CUDA",
	"ROCm",
	"HIP",
	"MUSA",
	"Vulkan",
	"SYCL",
	"MTL",
	"Metal",
	"CANN",
	"GPUOpenCL",
	"OpenCL",
	"Kompute",
	"WebGPU",
	"HTP",
}

// ggmlDevice is the device of a backend or of its buffers: CUDA3, Metal, MTL0_Mapped, HTP0-REPACK.
func ggmlDevice(name []byte) (device int, ok bool) {
	for _, backend := range ggmlBackends {
		rest, found := lex.CutPrefix(name, backend)
		if !found {
			continue
		}
		if n, after, ok := lex.CutInt(rest); ok {
			device, rest = n, after
		}
		switch string(rest) {
		case "", "_Mapped", "_Private", "-REPACK":
			return device, true
		}
	}
	return 0, false
}

// readGGMLBuffer reads "load_tensors:        CUDA2 model" before the needle, and the size behind
// it.
func readGGMLBuffer(l *scan.Line, at, from int) (end int) {
	before := lex.LastBytes(l.Text[:at], 100)
	kind := []byte(nil)
	name := lastWord(before)
	device, ok := ggmlDevice(name)
	if !ok {
		kind = name
		name = lastWord(bytes.TrimRight(before[:len(before)-len(name)], " "))
		if device, ok = ggmlDevice(name); !ok {
			return 0
		}
	}
	whisper := bytes.LastIndex(before, []byte("whisper_")) >= 0
	if l.Text[at+1] == 't' && !whisper {
		return 0 // " total size = " is whisper.cpp's
	}
	s, end, ok := sizeAt(l, at, from)
	if !ok {
		return end
	}
	if whisper {
		s, _, _ = lex.CutDecimalSize(l.Text[from:])
	}
	label := l.Str(name)
	switch {
	case len(kind) > 0:
		label += " " + l.Str(kind) + " buffer"
	case whisper:
		label += " model buffer"
	default:
		label += " buffer"
	}
	part(l, at, label, record.Lane{Device: device}, record.Buffer, s)
	return end
}

// lastWord is the word at the end of the text.
func lastWord(text []byte) []byte { return text[bytes.LastIndexAny(text, " \t")+1:] }

// readDiffusionBuffer reads stable-diffusion.cpp's "... - unet compute", then the size with
// "(VRAM)" behind it.
func readDiffusionBuffer(l *scan.Line, at, from int) (end int) {
	s, rest, ok := lex.CutSize(l.Text[from:], 0)
	if rest, onDevice := lex.CutPrefix(rest, "(VRAM)"); ok && onDevice {
		name := lex.LastBytes(l.Text[:at], 80)
		if i := bytes.LastIndex(name, []byte(" - ")); i >= 0 {
			name = name[i+len(" - "):]
		}
		part(l, at, l.Str(name)+" buffer", record.Lane{}, record.Buffer, s)
		return len(l.Text) - len(rest)
	}
	return 0
}

func readDiffusionTotal(l *scan.Line, at int) (end int) {
	_, rest, ok := bytes.Cut(lex.FirstBytes(l.Text[at:], 80), []byte(" (VRAM "))
	s, behind, fits := lex.CutSize(rest, 0)
	if !ok || !fits || !bytes.HasPrefix(behind, []byte(", RAM ")) {
		return 0
	}
	part(l, at, "total params", record.Lane{}, record.Buffer, s)
	return at + len("total params memory size = ")
}

// whisperLook is how many lines before that of a state's last buffer the backend is named, and some
// more.
const whisperLook = 16

// readWhisperState reads what a state takes, where it is on a device.
func readWhisperState(l *scan.Line, at int) (end int) {
	_, rest, _ := bytes.Cut(l.Text[at:], []byte(": "))
	label, _, ok := bytes.Cut(lex.FirstBytes(rest, 60), []byte("="))
	_, kv := lex.CutPrefix(label, "kv ")
	_, compute := lex.CutPrefix(label, "compute buffer (")
	if !ok || !kv && !compute {
		return 0
	}
	device, ok := whisperDevice(l)
	if !ok {
		return 0
	}
	from := len(l.Text) - len(rest) + len(label) + 1
	_, end, ok = sizeAt(l, at, from)
	if !ok {
		return end
	}
	s, _, _ := lex.CutDecimalSize(l.Text[from:])
	label = bytes.TrimSuffix(bytes.TrimSpace(label), []byte("size"))
	part(
		l,
		at,
		string(bytes.Join(bytes.Fields(label), []byte(" "))),
		record.Lane{Device: device},
		record.Buffer,
		s,
	)
	return len(l.Text)
}

// whisperDevice is the device of the backend that was chosen before this line, if it is no CPU.
func whisperDevice(l *scan.Line) (device int, ok bool) {
	for n := 1; n <= whisperLook; n++ {
		before, ok := l.Previous(n)
		if !ok {
			return 0, false
		}
		i := bytes.Index(before, []byte("whisper_backend_init"))
		if i < 0 {
			continue
		}
		_, name, using := bytes.Cut(before[i:], []byte(": using "))
		if !using {
			if bytes.Contains(before[i:], []byte(": no GPU found")) {
				return 0, false
			}
			continue // "found GPU device 0: CUDA0 (type: 1, cnt: 0)"
		}
		name, _, _ = bytes.Cut(name, []byte(" "))
		if device, ok := ggmlDevice(name); ok {
			return device, true
		} // else BLAS, which is beside a GPU or none
	}
	return 0, false
}

// readGGMLDevice reads "  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes" and what
// follows it.
func readGGMLDevice(l *scan.Line, at int) (end int) {
	before := lex.LastBytes(l.Text[:at], scan.Near)
	i := bytes.LastIndex(before, []byte("Device "))
	if i < 0 {
		return 0
	}
	device, rest, ok := lex.CutInt(before[i+len("Device "):])
	name, found := lex.CutPrefix(rest, ": ")
	if !ok || !found || !bytes.Contains(name, []byte("VMM: ")) {
		return 0
	}
	total, end, ok := sizeAt(l, at, at+len(", VRAM: "))
	if !ok {
		return end
	}
	name, _, _ = bytes.Cut(name, []byte(", "))
	c := part(l, at, l.Str(name), record.Lane{Device: device}, record.Total, total)
	if free, ok := lex.CutPrefix(l.Text[end:], " ("); ok {
		if s, rest, ok := lex.CutSize(free, 0); ok && bytes.HasPrefix(rest, []byte(" free)")) {
			c.Set(record.Free, s)
			return len(l.Text)
		}
	}
	return end
}

// readGGMLFree reads "CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free".
func readGGMLFree(l *scan.Line, at int) (end int) {
	text := l.Text[at+len("using device "):]
	name, rest, _ := bytes.Cut(text, []byte(" "))
	device, ok := ggmlDevice(name)
	i := bytes.LastIndex(lex.FirstBytes(rest, scan.Near), []byte(" - "))
	if !ok || i < 0 {
		return 0
	}
	s, end, ok := sizeAt(l, at, len(l.Text)-len(rest)+i+len(" - "))
	if !ok {
		return end
	}
	if !bytes.HasPrefix(l.Text[end:], []byte(" free")) {
		return 0
	}
	part(l, at, l.Str(name), record.Lane{Device: device}, record.Free, s)
	return len(l.Text)
}

// readGGMLListed reads a device of a list: "  CUDA0: NVIDIA GeForce RTX 3090 (24135 MiB, 23886 MiB
// free)".
func readGGMLListed(l *scan.Line, at int) (end int) {
	begin := max(0, at-scan.Near)
	before := l.Text[begin:at]
	open := bytes.LastIndexByte(before, '(')
	if open < 0 {
		return 0
	}
	total, rest, ok := lex.CutSize(l.Text[begin+open+1:], 0)
	rest, found := lex.CutPrefix(rest, ", ")
	free, rest, fits := lex.CutSize(rest, 0)
	if !ok || !found || !fits || !bytes.HasPrefix(rest, []byte(" free)")) {
		return 0
	}
	// "- CUDA0   : NVIDIA GeForce RTX 3090 (...", the name is the word before the first colon that a
	// device has before it.
	for from := 0; ; {
		i := bytes.Index(before[from:open], []byte(": "))
		if i < 0 {
			return 0
		}
		name := lastWord(bytes.TrimRight(before[:from+i], " "))
		if device, ok := ggmlDevice(name); ok {
			part(l, at, l.Str(name), record.Lane{Device: device}, record.Total, total).Set(record.Free, free)
			return len(l.Text) - len(rest) + len(" free)")
		}
		from += i + 1
	}
}

// readGGMLMetal reads the size of a buffer, and behind it what the program has on the device and
// the most that it should:
//
//	ggml_metal_add_buffer: allocated 'data            ' buffer, size =  3616.08 MB, ( 3616.58 / 21845.34)
func readGGMLMetal(l *scan.Line, at int) (end int) {
	if bytes.LastIndex(lex.LastBytes(l.Text[:at], 80), []byte("allocated ")) < 0 {
		return 0
	}
	s, end, ok := sizeAt(l, at, at+len("buffer, size = "))
	rest, found := lex.CutPrefix(l.Text[end:], ", (")
	if !ok || !found || s.Bytes < 0 {
		return end
	}
	c := part(l, at, "Metal buffer", record.Lane{}, record.Buffer, s)
	used, rest, ok := lex.CutSize(rest, record.MiB)
	if ok {
		c.Set(record.Used, used)
		c.Own = true // MTLDevice.currentAllocatedSize
		if limit, ok := lex.CutPrefix(rest, " /"); ok {
			if total, _, ok := lex.CutSize(limit, record.MiB); ok {
				c.Set(record.Total, total)
			}
		}
	}
	return len(l.Text)
}
