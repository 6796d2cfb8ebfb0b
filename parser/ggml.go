package parser

import "bytes"

// ggmlDialect is that of the programs on ggml: llama.cpp, whisper.cpp and stable-diffusion.cpp. MB is 1<<20, but for
// whisper.cpp, where it is 1e6 (since 1.5, the first that has buffers on a GPU).
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
// Those of CPU, CPU_Mapped, CUDA_Host and the like are on the host; CUDA_Split lies across devices and RPC on another
// machine. They give nothing, and neither does a sum of buffers: "llama_kv_cache: size =  640.00 MiB". What a state of
// whisper.cpp takes is on the backend that was chosen just before; its compute buffers are printed with the little that
// they take on the host:
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
// At the end, and with fitted parameters at the start, a table says where memory went: the device's total is what is
// free, what the program's buffers take, and what is unaccounted for. Where the last is less than nothing, or the table is
// one of the fit, the buffers are projected ones and not read:
//
//	llama_memory_breakdown_print: |   - CUDA0 (RTX 3090) | 24135 = 1234 + (6187 = 4924 + 512 + 750) + 16713 |
//
// Before buffers had names (2023), llama.cpp printed what it had placed on its devices together, which counts as device 0:
//
//	llama_model_load_internal: [cublas] total VRAM used: 17223 MB
//	llama_kv_cache_init: VRAM kv self = 256.00 MB
var ggmlDialect = dialect{
	name: "ggml",
	needles: []string{
		" buffer size = ", " buffer size: ", " total size = ", "total params memory size = ",
		"whisper_init_state: ", "whisper_vad_init_context: ",
		", VRAM: ", "using device ", " MiB free)", "buffer, size = ", "memory_breakdown_print: |   - ",
		"VRAM used", "VRAM kv self = ", "VRAM scratch buffer: ",
	},
	read: readGGML,
}

func readGGML(l *line, at int) (end int) {
	text := l.text[at:]
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
	"CUDA", "ROCm", "HIP", "MUSA", "Vulkan", "SYCL", "MTL", "Metal", "CANN", "GPUOpenCL", "OpenCL", "Kompute", "WebGPU", "HTP",
}

// ggmlDevice is the device of a backend or of its buffers: CUDA3, Metal, MTL0_Mapped, HTP0-REPACK.
func ggmlDevice(name []byte) (device int, ok bool) {
	for _, backend := range ggmlBackends {
		rest, found := cutPrefix(name, backend)
		if !found {
			continue
		}
		if n, after, ok := cutInt(rest); ok {
			device, rest = n, after
		}
		switch string(rest) {
		case "", "_Mapped", "_Private", "-REPACK":
			return device, true
		}
	}
	return 0, false
}

// readGGMLBuffer reads "load_tensors:        CUDA2 model" before the needle, and the size behind it.
func readGGMLBuffer(l *line, at, from int) (end int) {
	before := lastBytes(l.text[:at], 100)
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
	if l.text[at+1] == 't' && !whisper {
		return 0 // " total size = " is whisper.cpp's
	}
	s, end, ok := l.sizeAt(at, from)
	if !ok {
		return end
	}
	if whisper {
		s, _, _ = cutDecimalSize(l.text[from:])
	}
	label := l.str(name)
	switch {
	case len(kind) > 0:
		label += " " + l.str(kind) + " buffer"
	case whisper:
		label += " model buffer"
	default:
		label += " buffer"
	}
	l.part(at, label, Lane{Device: device}, Buffer, s)
	return end
}

// lastWord is the word at the end of the text.
func lastWord(text []byte) []byte { return text[bytes.LastIndexAny(text, " \t")+1:] }

// readDiffusionBuffer reads stable-diffusion.cpp's "... - unet compute", then the size with "(VRAM)" behind it.
func readDiffusionBuffer(l *line, at, from int) (end int) {
	s, rest, ok := cutSize(l.text[from:], 0)
	if rest, onDevice := cutPrefix(rest, "(VRAM)"); ok && onDevice {
		name := lastBytes(l.text[:at], 80)
		if i := bytes.LastIndex(name, []byte(" - ")); i >= 0 {
			name = name[i+len(" - "):]
		}
		l.part(at, l.str(name)+" buffer", Lane{}, Buffer, s)
		return len(l.text) - len(rest)
	}
	return 0
}

func readDiffusionTotal(l *line, at int) (end int) {
	_, rest, ok := bytes.Cut(firstBytes(l.text[at:], 80), []byte(" (VRAM "))
	s, behind, fits := cutSize(rest, 0)
	if !ok || !fits || !bytes.HasPrefix(behind, []byte(", RAM ")) {
		return 0
	}
	l.part(at, "total params", Lane{}, Buffer, s)
	return at + len("total params memory size = ")
}

// whisperLook is how many lines before that of a state's last buffer the backend is named, and some more.
const whisperLook = 16

// readWhisperState reads what a state takes, where it is on a device.
func readWhisperState(l *line, at int) (end int) {
	_, rest, _ := bytes.Cut(l.text[at:], []byte(": "))
	label, _, ok := bytes.Cut(firstBytes(rest, 60), []byte("="))
	_, kv := cutPrefix(label, "kv ")
	_, compute := cutPrefix(label, "compute buffer (")
	if !ok || !kv && !compute {
		return 0
	}
	device, ok := l.whisperDevice()
	if !ok {
		return 0
	}
	from := len(l.text) - len(rest) + len(label) + 1
	_, end, ok = l.sizeAt(at, from)
	if !ok {
		return end
	}
	s, _, _ := cutDecimalSize(l.text[from:])
	label = bytes.TrimSuffix(bytes.TrimSpace(label), []byte("size"))
	l.part(at, string(bytes.Join(bytes.Fields(label), []byte(" "))), Lane{Device: device}, Buffer, s)
	return len(l.text)
}

// whisperDevice is the device of the backend that was chosen before this line, if it is no CPU.
func (l *line) whisperDevice() (device int, ok bool) {
	for n := 1; n <= whisperLook; n++ {
		before, ok := l.previous(n)
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

// readGGMLDevice reads "  Device 0: NVIDIA RTX A6000, compute capability 8.6, VMM: yes" and what follows it.
func readGGMLDevice(l *line, at int) (end int) {
	before := lastBytes(l.text[:at], near)
	i := bytes.LastIndex(before, []byte("Device "))
	if i < 0 {
		return 0
	}
	device, rest, ok := cutInt(before[i+len("Device "):])
	name, found := cutPrefix(rest, ": ")
	if !ok || !found || !bytes.Contains(name, []byte("VMM: ")) {
		return 0
	}
	total, end, ok := l.sizeAt(at, at+len(", VRAM: "))
	if !ok {
		return end
	}
	name, _, _ = bytes.Cut(name, []byte(", "))
	c := l.part(at, l.str(name), Lane{Device: device}, Total, total)
	if free, ok := cutPrefix(l.text[end:], " ("); ok {
		if s, rest, ok := cutSize(free, 0); ok && bytes.HasPrefix(rest, []byte(" free)")) {
			c.Set(Free, s)
			return len(l.text)
		}
	}
	return end
}

// readGGMLFree reads "CUDA3 (NVIDIA RTX A6000) (0000:a3:00.0) - 48021 MiB free".
func readGGMLFree(l *line, at int) (end int) {
	text := l.text[at+len("using device "):]
	name, rest, _ := bytes.Cut(text, []byte(" "))
	device, ok := ggmlDevice(name)
	i := bytes.LastIndex(firstBytes(rest, near), []byte(" - "))
	if !ok || i < 0 {
		return 0
	}
	s, end, ok := l.sizeAt(at, len(l.text)-len(rest)+i+len(" - "))
	if !ok {
		return end
	}
	if !bytes.HasPrefix(l.text[end:], []byte(" free")) {
		return 0
	}
	l.part(at, l.str(name), Lane{Device: device}, Free, s)
	return len(l.text)
}

// readGGMLListed reads a device of a list: "  CUDA0: NVIDIA GeForce RTX 3090 (24135 MiB, 23886 MiB free)".
func readGGMLListed(l *line, at int) (end int) {
	begin := max(0, at-near)
	before := l.text[begin:at]
	open := bytes.LastIndexByte(before, '(')
	if open < 0 {
		return 0
	}
	total, rest, ok := cutSize(l.text[begin+open+1:], 0)
	rest, found := cutPrefix(rest, ", ")
	free, rest, fits := cutSize(rest, 0)
	if !ok || !found || !fits || !bytes.HasPrefix(rest, []byte(" free)")) {
		return 0
	}
	// "- CUDA0   : NVIDIA GeForce RTX 3090 (...", the name is the word before the first colon that a device has before it.
	for from := 0; ; {
		i := bytes.Index(before[from:open], []byte(": "))
		if i < 0 {
			return 0
		}
		name := lastWord(bytes.TrimRight(before[:from+i], " "))
		if device, ok := ggmlDevice(name); ok {
			l.part(at, l.str(name), Lane{Device: device}, Total, total).Set(Free, free)
			return len(l.text) - len(rest) + len(" free)")
		}
		from += i + 1
	}
}

// readGGMLMetal reads the size of a buffer, and behind it what the program has on the device and the most that it should:
//
//	ggml_metal_add_buffer: allocated 'data            ' buffer, size =  3616.08 MB, ( 3616.58 / 21845.34)
func readGGMLMetal(l *line, at int) (end int) {
	if bytes.LastIndex(lastBytes(l.text[:at], 80), []byte("allocated ")) < 0 {
		return 0
	}
	s, end, ok := l.sizeAt(at, at+len("buffer, size = "))
	rest, found := cutPrefix(l.text[end:], ", (")
	if !ok || !found || s.Bytes < 0 {
		return end
	}
	c := l.part(at, "Metal buffer", Lane{}, Buffer, s)
	used, rest, ok := cutSize(rest, MiB)
	if ok {
		c.Set(Used, used)
		c.Own = true // MTLDevice.currentAllocatedSize
		if limit, ok := cutPrefix(rest, " /"); ok {
			if total, _, ok := cutSize(limit, MiB); ok {
				c.Set(Total, total)
			}
		}
	}
	return len(l.text)
}
