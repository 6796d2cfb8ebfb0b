package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A vllmField is a size in the memory profile: the label before it, and the name of its buffer.
type vllmField struct{ label, name string }

// The fields of the memory profile, in the order in which V0 and V1 print them.
var vllmFieldsV0 = []vllmField{
	{vllmPartsV0, "model weights"},
	{"non_torch_memory takes ", "non-torch memory"},
	{"PyTorch activation peak memory takes ", "activation peak"},
	{"the rest of the memory reserved for KV Cache is ", "KV cache"},
}

var vllmFieldsV1 = []vllmField{
	{vllmPartsV1, ""}, // a sum, which is not read
	{"torch peak memory increase: ", "activation peak"},
	{"non-torch forward increase memory: ", "non-torch memory"},
	{"weights memory: ", "model weights"},
}

// readVLLMProfile reads the sizes of the memory profile, which are separated by semicolons.
func readVLLMProfile(l *scan.Line, at int, fields []vllmField) (end int) {
	lane := vllmLane(l.Text[:at])
	from := at
	for _, f := range fields {
		i := bytes.Index(l.Text[from:min(len(l.Text), from+len(f.label)+8)], []byte(f.label))
		if i < 0 {
			break
		}
		s, after, ok := readSize(l, at, from+i+len(f.label))
		if !ok {
			return max(end, after)
		}
		if f.name != "" {
			addSampled(l, from+i, f.name, lane, record.Buffer, s)
		}
		from, end = after, after
	}
	return end
}

// readVLLMResults reads the memory profile of 0.6: key=size fields, with or without commas between.
func readVLLMResults(l *scan.Line, at int) (end int) {
	lane := vllmLane(l.Text[:at])
	from := at + len(vllmResults)
	c := record.Checkpoint{Name: "memory profiling", Lane: lane, Sampled: true}
	for {
		field := bytes.TrimLeft(l.Text[from:], ", ")
		i := bytes.IndexByte(lex.FirstBytes(field, 40), '=')
		if i < 0 {
			break
		}
		key := string(field[:i])
		from = len(l.Text) - len(field) + i + 1
		if key == "duration" {
			if i := bytes.IndexByte(lex.FirstBytes(field, 40), ','); i >= 0 {
				from = len(l.Text) - len(field) + i
				continue
			}
			break
		}
		if source.IsTemplate(field[:i]) || key == "gpu_memory_utilization" {
			break
		}
		s, after, ok := readSize(l, at, from)
		if !ok {
			end = max(end, after)
			break
		}
		switch key {
		case "total_gpu_memory", "total_mlu_memory", "total_hpu_memory", "total_npu_memory":
			c.Set(record.Total, s)
		case "initial_memory_usage":
			addSampled(l, at, "initial memory usage", lane, record.Used, s)
		case "peak_torch_memory":
			c.Set(record.Peak, s)
		case "memory_usage_post_profile":
			c.Set(record.Used, s)
		case "non_torch_memory":
			addSampled(l, at, "non-torch memory", lane, record.Buffer, s)
		case "kv_cache_size":
			addSampled(l, at, "KV cache", lane, record.Buffer, s)
		}
		from, end = after, after
	}
	if c.Len() > 0 {
		c.Header = l.Header(at)
		l.Add(c)
	}
	return end
}

// vllmActualNames maps the names in "Actual usage" to the names that other lines give to the same
// buffers.
var vllmActualNames = map[string]string{
	"weight":           "model weights",
	"peak activation":  "activation peak",
	"CUDAGraph memory": "graph capturing",
}

// readVLLMActual reads the buffers in "Actual usage is 14.08 GiB for weight, 1.97 GiB for peak
// activation, and 0.67 GiB for CUDAGraph memory.".
func readVLLMActual(l *scan.Line, at int) (end int) {
	lane := vllmLane(l.Text[:at])
	for from := at + len(vllmActual); ; {
		s, after, ok := readSize(l, at, from)
		if !ok {
			return max(end, after)
		}
		name, ok := lex.CutPrefix(l.Text[after:], " for ")
		if !ok {
			return end
		}
		i := bytes.IndexAny(lex.FirstBytes(name, 60), ",.")
		if i < 0 {
			return end
		}
		last := name[i] == '.'
		from = len(l.Text) - len(name) + i + 1
		name, _, _ = bytes.Cut(name[:i], []byte(" ("))
		label, known := vllmActualNames[string(name)]
		if !known {
			label = l.Str(name)
		}
		addSampled(l, at, label, lane, record.Buffer, s)
		if end = from; last {
			return end
		}
		if rest, ok := lex.CutPrefix(l.Text[from:], " and"); ok {
			from = len(l.Text) - len(rest)
		}
	}
}
