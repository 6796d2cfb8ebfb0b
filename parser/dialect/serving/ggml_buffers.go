package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// readGGMLBuffer reads the buffer in "load_tensors:  CUDA2 model buffer size = 17931.70 MiB". The
// parameter at is the offset of the needle " buffer size = ", and from is the offset of the size.
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
		return 0 // only whisper.cpp prints " total size = "
	}
	s, end, ok := readSize(l, at, from)
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
	addSampled(l, at, label, record.Lane{Device: device}, record.Buffer, s)
	return end
}

// lastWord returns the last word of the text, or an empty word if the text ends with a blank.
func lastWord(text []byte) []byte { return text[bytes.LastIndexAny(text, " \t")+1:] }

// readDiffusionBuffer reads a buffer of stable-diffusion.cpp in device memory: "unet compute
// buffer size: 559.88 MB(VRAM)". The parameter at is the offset of the needle, and from is the
// offset of the size.
func readDiffusionBuffer(l *scan.Line, at, from int) (end int) {
	s, rest, ok := lex.CutSize(l.Text[from:], 0)
	if rest, onDevice := lex.CutPrefix(rest, "(VRAM)"); ok && onDevice {
		name := lex.LastBytes(l.Text[:at], 80)
		if i := bytes.LastIndex(name, []byte(" - ")); i >= 0 {
			name = name[i+len(" - "):]
		}
		addSampled(l, at, l.Str(name)+" buffer", record.Lane{}, record.Buffer, s)
		return len(l.Text) - len(rest)
	}
	return 0
}

// readDiffusionTotal reads the parameters of stable-diffusion.cpp in device memory: "total params
// memory size = 1969.78MB (VRAM 1969.78MB, RAM 0.00MB)".
func readDiffusionTotal(l *scan.Line, at int) (end int) {
	_, rest, ok := bytes.Cut(lex.FirstBytes(l.Text[at:], 80), []byte(" (VRAM "))
	s, behind, fits := lex.CutSize(rest, 0)
	if !ok || !fits || !bytes.HasPrefix(behind, []byte(", RAM ")) {
		return 0
	}
	addSampled(l, at, "total params", record.Lane{}, record.Buffer, s)
	return at + len("total params memory size = ")
}

// whisperLook is how many lines before a buffer are searched for the line that names the backend.
// In real logs the two are closer to each other.
const whisperLook = 16

// readWhisperState reads a buffer of a whisper.cpp state, if it is in device memory.
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
	_, end, ok = readSize(l, at, from)
	if !ok {
		return end
	}
	s, _, _ := lex.CutDecimalSize(l.Text[from:])
	label = bytes.TrimSuffix(bytes.TrimSpace(label), []byte("size"))
	name := string(bytes.Join(bytes.Fields(label), []byte(" ")))
	addSampled(l, at, name, record.Lane{Device: device}, record.Buffer, s)
	return len(l.Text)
}

// whisperDevice returns the device of the backend that an earlier line names. ok is false if
// whisper.cpp uses the CPU.
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
		} // otherwise it is BLAS, which is used with and without a GPU
	}
	return 0, false
}

// readGGMLMetal reads a Metal buffer. In the parentheses behind it, the line gives the program's
// memory on the device, and the most that the program should use. This limit is read as the
// total:
//
//	ggml_metal_add_buffer: allocated 'data            ' buffer, size =  3616.08 MB, ( 3616.58 / 21845.34)
func readGGMLMetal(l *scan.Line, at int) (end int) {
	if bytes.LastIndex(lex.LastBytes(l.Text[:at], 80), []byte("allocated ")) < 0 {
		return 0
	}
	s, end, ok := readSize(l, at, at+len("buffer, size = "))
	rest, found := lex.CutPrefix(l.Text[end:], ", (")
	if !ok || !found || s.Bytes < 0 {
		return end
	}
	c := addSampled(l, at, "Metal buffer", record.Lane{}, record.Buffer, s)
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
