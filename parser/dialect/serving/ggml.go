package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// GGML reads the programs that use ggml: llama.cpp, whisper.cpp and stable-diffusion.cpp. MB is
// 1<<20. In whisper.cpp it is 1e6, since 1.5, the first version with buffers on a GPU.
//
// The name of a buffer's backend gives the device:
//
//	load_tensors:        CUDA2 model buffer size = 17931.70 MiB
//	llama_kv_cache:      CUDA3 KV buffer size =   320.00 MiB
//	llm_load_tensors:      CUDA0 buffer size =   647.03 MiB
//	whisper_model_load:        CUDA0 total size =   147.37 MB
//	[DEBUG] ggml_extend.hpp:1547 - unet compute buffer size: 559.88 MB(VRAM)
//	[INFO ] stable-diffusion.cpp:582 - total params memory size = 1969.78MB (VRAM 1969.78MB, RAM 0.00MB): ...
//
// These buffers are not read: CPU, CPU_Mapped, CUDA_Host and the like are in host memory,
// CUDA_Split is spread over devices, and RPC is on another machine. A sum of buffers is not read
// either: "llama_kv_cache: size =  640.00 MiB".
//
// The buffers of a whisper.cpp state are on the backend that an earlier line names. The printed
// sizes of its compute buffers include a small part in host memory:
//
//	whisper_backend_init_gpu: using CUDA0 backend
//	whisper_init_state: kv self size  =   18.87 MB
//	whisper_init_state: compute buffer (conv)   =   22.42 MB
//
// The total and the free memory of a device are printed before a model is loaded:
//
//	  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes, VRAM: 48531 MiB
//	llama_model_load_from_file_impl: using device CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free
//	  CUDA0: NVIDIA GeForce RTX 3090 (24135 MiB, 23886 MiB free)
//	ggml_backend_metal_log_allocated_size: allocated buffer, size =  4096.00 MiB, ( 4096.06 / 21845.34)
//
// At its end a program prints a memory breakdown: the total is the sum of the free memory, the
// program's buffers, and an unaccounted rest. A program that fits its parameters to the device also
// prints breakdowns at the start. The buffers in those are projections and not read. The same holds
// for buffers that make the rest negative:
//
//	llama_memory_breakdown_print: |   - CUDA0 (RTX 3090) | 24135 = 1234 + (6187 = 4924 + 512 + 750) + 16713 |
//
// Before buffers had names (2023), llama.cpp printed one size for all devices together. It is read
// as that of device 0:
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

// readGGML reads the record that belongs to the needle at the offset `at`.
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

// ggmlBackends are the backends whose buffers are in device memory.
var ggmlBackends = []string{
	"CUDA", "ROCm", "HIP", "MUSA", "Vulkan", "SYCL", "MTL", "Metal", "CANN", "GPUOpenCL", "OpenCL",
	"Kompute", "WebGPU", "HTP",
}

// ggmlDevice returns the device of a backend or a buffer type, such as CUDA3, Metal, MTL0_Mapped
// or HTP0-REPACK. ok is false if the name means host memory.
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

// readGGMLDevice reads a device's total, and its free memory if the line has it. The parameter at
// is the offset of ", VRAM: ":
//
//	Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes, VRAM: 48531 MiB
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
	total, end, ok := readSize(l, at, at+len(", VRAM: "))
	if !ok {
		return end
	}
	name, _, _ = bytes.Cut(name, []byte(", "))
	c := addSampled(l, at, l.Str(name), record.Lane{Device: device}, record.Total, total)
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
	s, end, ok := readSize(l, at, len(l.Text)-len(rest)+i+len(" - "))
	if !ok {
		return end
	}
	if !bytes.HasPrefix(l.Text[end:], []byte(" free")) {
		return 0
	}
	addSampled(l, at, l.Str(name), record.Lane{Device: device}, record.Free, s)
	return len(l.Text)
}

// readGGMLListed reads one device of a list of devices: "  CUDA0: NVIDIA GeForce RTX 3090 (24135
// MiB, 23886 MiB free)".
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
	// The device is the word before a colon: "- CUDA0   : NVIDIA GeForce RTX 3090 (...".
	for from := 0; ; {
		i := bytes.Index(before[from:open], []byte(": "))
		if i < 0 {
			return 0
		}
		name := lastWord(bytes.TrimRight(before[:from+i], " "))
		if device, ok := ggmlDevice(name); ok {
			lane := record.Lane{Device: device}
			addSampled(l, at, l.Str(name), lane, record.Total, total).Set(record.Free, free)
			return len(l.Text) - len(rest) + len(" free)")
		}
		from += i + 1
	}
}
