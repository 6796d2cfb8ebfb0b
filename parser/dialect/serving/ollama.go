package serving

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// Ollama reads "ollama serve" (server/sched.go, ml/device.go, discover/types.go, llm/memory.go and,
// in earlier versions, gpu/gpu.go). Its lines are logfmt, and sizes have one decimal. The runner
// that it starts writes to the same log, see [GGML].
//
//	time=2026-04-02T13:12:02.143Z level=INFO source=types.go:42 msg="inference compute" id=GPU-f7223551 library=CUDA
//	compute=8.6 name=CUDA0 description="NVIDIA GeForce RTX 3090" ... total="24.0 GiB" available="23.6 GiB"
//	time=... msg="gpu memory" id=GPU-f7223551 library=CUDA available="23.1 GiB" free="23.6 GiB" minimum="457.0 MiB" ...
//	time=... msg="model weights" device=CUDA0 size="13.3 GiB"
//	time=... msg="new model will fit in available VRAM in single GPU, loading" model=... gpu=GPU-f7223551 parallel=4
//	available=25302532096 required="6.5 GiB"
//	time=... msg=offload library=cuda layers.requested=-1 ... memory.available="[23.1 GiB]" memory.required.full="6.5 GiB" ...
//	ggml_backend_cuda_device_get_memory device GPU-f7223551 utilizing NVML memory reporting free: 25302532096 total: 25769803776
//	[GPU-f7223551] CUDA freeMem 23730mb
//
// These are not read: required memory, which is an estimate; the available memory in "gpu memory",
// which is free memory minus a reserve; buffers on the CPU; host memory; and sums over CPU and
// devices.
//
// A name such as CUDA0, or an id that is a number, gives the device of a reading. An id such as
// GPU-f7223551 does not give the order of devices. Then the device is 0, and the id is part of the
// reading's name.
var Ollama = scan.Dialect{
	Name: "ollama",
	Needles: []string{
		`msg="inference compute"`,
		`msg="gpu memory"`,
		`msg="gpu reported"`,
		`msg="amdgpu memory"`,
		`msg="model weights"`,
		`msg="kv cache"`,
		`msg="compute graph"`,
		`msg="new model will fit in available VRAM in single GPU`,
		`msg=offload `,
		`msg="offload to `,
		`msg="updating `,
		reportingFree,
		"CUDA totalMem ",
		"CUDA freeMem ",
	},
	Read: readOllama,
}

const reportingFree = " memory reporting free: "

// ollamaMax is how many bytes of a line are searched for fields.
const ollamaMax = 4 << 10

// readOllama reads the record that belongs to the needle at the offset `at`.
func readOllama(l *scan.Line, at int) (end int) {
	switch l.Text[at] {
	case 'C':
		return readOllamaProbe(l, at)
	case ' ':
		return readOllamaReporting(l, at)
	}
	var f ollamaFields
	text := lex.FirstBytes(l.Text[at:], ollamaMax)
	if next := bytes.Index(text[1:], []byte(" msg=")); next >= 0 {
		text = text[:next+1] // two writers wrote into the same line
	}
	err := lex.Logfmt(string(text), f.set)
	reading, name := f.reading()
	if name == "" {
		return 0
	}
	if reading.Len() == 0 {
		if err == nil || !f.hasDevice {
			return 0
		}
		l.Bad(at, fmt.Sprintf(`a size such as "13.3 GiB" in the fields of %q`, f.msg),
			"the value is left out; the line was cut")
		return len(l.Text)
	}
	for i, s := range f.list {
		label := name
		if len(f.list) > 1 {
			label = fmt.Sprintf("%s, device %d of %d", name, i+1, len(f.list))
		}
		addSampled(l, at, label, record.Lane{}, record.Free, s)
	}
	if len(f.list) == 0 {
		c := l.Checkpoint(at, name)
		c.Lane, c.Sampled, c.Reading = record.Lane{Device: f.device}, true, reading
	}
	return at + len(text)
}

// ollamaFields are the fields of a line that name a device and give its sizes.
type ollamaFields struct {
	msg, library, id string
	backend          string // CUDA0
	hasDevice        bool   // the line has at least one of library, id and backend
	device           int
	sizes            map[string]record.Size // the sizes by their keys
	list             []record.Size          // available memory of each device
}

// set notes a field of the line.
func (f *ollamaFields) set(key, value string) {
	switch key {
	case "msg":
		f.msg = value
	case "library":
		f.library, f.hasDevice = strings.ToLower(value), true
	case "id", "gpu":
		f.id, f.hasDevice = value, true
		if n, err := lex.ParseCount(value); err == nil {
			f.device, f.id = n, ""
		}
	case "name", "device", "buffer", "backend", "buffer_type":
		// The field buffer_type comes last. Its value tells device memory and host memory apart.
		f.backend, f.hasDevice = value, true
		if n, ok := ggmlDevice([]byte(value)); ok {
			f.device = n
		}
	case "total", "available", "free", "size", "now", "now.total", "now.free", "now.used":
		if s, rest, ok := lex.CutSize([]byte(value), 1); ok && len(rest) == 0 && s.Bytes >= 0 {
			if f.sizes == nil {
				f.sizes = map[string]record.Size{}
			}
			f.sizes[key] = s
		}
	case "memory.available":
		// The value lists the memory of each device: "[23.1 GiB 22.9 GiB]".
		rest, ok := lex.CutPrefix([]byte(value), "[")
		for ok && len(f.list) < 1024 {
			var s record.Size
			if s, rest, ok = lex.CutSize(rest, 0); ok {
				f.list = append(f.list, s)
			}
		}
	}
}

// reading returns the sizes and the name of the reading that the fields give. name is "" if the
// line is not about a device.
func (f *ollamaFields) reading() (r record.Reading, name string) {
	take := func(q record.Quantity, key string) {
		if s, ok := f.sizes[key]; ok {
			r.Set(q, s)
		}
	}
	if f.library == "cpu" || f.id == "cpu" {
		return r, ""
	}
	name = f.msg
	_, onDevice := ggmlDevice([]byte(f.backend))
	switch {
	case name == "model weights" || name == "kv cache" || name == "compute graph":
		if !onDevice {
			return r, ""
		}
		take(record.Buffer, "size")
		return r, f.backend + " " + name
	case name == "inference compute" || name == "amdgpu memory":
		take(record.Total, "total")
		take(record.Free, "available")
	case name == "gpu memory":
		take(record.Free, "free")
	case name == "gpu reported":
		take(record.Free, "available")
	case strings.HasPrefix(name, "new model will fit"):
		take(record.Free, "available")
		name = "available for a new model"
	case name == "offload" && f.library != "",
		strings.HasPrefix(name, "offload to ") && name != "offload to cpu":
		for _, s := range f.list {
			r.Set(record.Free, s)
		}
		return r, "memory available"
	case name == "updating system memory data":
		return r, ""
	case strings.HasPrefix(name, "updating ") && strings.HasSuffix(name, " memory data"):
		take(record.Total, "now.total")
		take(record.Free, "now.free")
		take(record.Used, "now.used")
	case strings.HasPrefix(name, "updating ") && strings.HasSuffix(name, " free memory"):
		take(record.Free, "now")
	default:
		return r, ""
	}
	name = strings.TrimPrefix(name, "updating ")
	if f.id != "" && !onDevice {
		name += " " + f.id
	}
	return r, name
}

// readOllamaReporting reads a device's free and total memory in bytes. The driver reports them to
// ollama's runner, the process that runs the model:
//
//	ggml_backend_cuda_device_get_memory device GPU-f7223551 utilizing NVML memory reporting free: 25302532096 total: 25769803776
func readOllamaReporting(l *scan.Line, at int) (end int) {
	words := strings.Fields(string(l.Text[max(0, at-120):at]))
	if len(words) < 4 || words[len(words)-2] != "utilizing" || words[len(words)-4] != "device" {
		return 0
	}
	free, rest, ok := lex.CutSize(l.Text[at+len(reportingFree):], 1)
	rest, found := lex.CutPrefix(rest, " total: ")
	total, rest, fits := lex.CutSize(rest, 1)
	if !ok || !found || !fits {
		l.Bad(at, "bytes after free: and total:", "the value is left out; the line was cut")
		return len(l.Text)
	}
	name, lane := ollamaID(words[len(words)-1]+" memory", words[len(words)-3])
	addSampled(l, at, name, lane, record.Free, free).Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// readOllamaProbe reads what ollama prints with OLLAMA_DEBUG when it looks for devices: "[0] CUDA
// totalMem 25385500672". Other versions print the size as "24209mb" or "24209 mb".
func readOllamaProbe(l *scan.Line, at int) (end int) {
	before := strings.TrimSuffix(string(l.Text[max(0, at-80):at]), "] ")
	open := strings.LastIndexByte(before, '[')
	if open < 0 || !strings.HasSuffix(string(l.Text[:at]), "] ") {
		return 0
	}
	from, q := at+len("CUDA freeMem "), record.Free
	if l.Text[at+len("CUDA ")] == 't' {
		from, q = at+len("CUDA totalMem "), record.Total
	}
	s, rest, ok := lex.CutSize(l.Text[from:], 1)
	if !ok {
		return 0
	}
	name, lane := ollamaID("device", before[open+1:])
	addSampled(l, at, name, lane, q, s)
	return len(l.Text) - len(rest)
}

// ollamaID returns the name and the lane of a reading of the device with the given id. An id that
// is a number becomes the lane's device. Any other id becomes part of the name.
func ollamaID(name, id string) (string, record.Lane) {
	if n, err := lex.ParseCount(id); err == nil {
		return name, record.Lane{Device: n}
	}
	return strings.ToValidUTF8(name+" "+id, "�"), record.Lane{}
}
