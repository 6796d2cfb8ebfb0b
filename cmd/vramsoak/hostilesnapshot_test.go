package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
)

// TestHostileSnapshot prints a PyTorch snapshot whose frames, settings and annotations are hostile,
// as text and as JSON, and reads the profile that is written from it.
func TestHostileSnapshot(t *testing.T) {
	t.Parallel()
	h := hostileRun{t: t, dir: t.TempDir()}
	x := hostileText
	frames := []any{dict{"filename", x + ".py", "line", 3, "name", x}}
	block := dict{"address", 4096, "size", 2048, "requested_size", 2000, "state", "active_allocated", "frames", frames}
	segment := dict{
		"device", 0, "address", 4096, "total_size", 2048, "allocated_size", 2048, "active_size", 2048,
		"requested_size", 2000, "stream", 0, "segment_type", "small", "is_expandable", false,
		"frames", frames, "blocks",
		[]any{block},
	}
	alloc := dict{"action", "alloc", "addr", 4096, "size", 2048, "stream", 0, "time_us", 1, "frames", frames}
	oom := dict{"action", "oom", "device_free", 0, "size", 4194304, "stream", 0, "time_us", 2, "frames", frames}
	h.write(hostile, string(dict{
		"segments",
		[]any{segment},
		"device_traces",
		[]any{[]any{alloc, oom}},
		"allocator_settings",
		dict{"PYTORCH_CUDA_ALLOC_CONF", x},
		"external_annotations",
		[]any{dict{"stage", "START", "name", x, "device", 0, "time_us", 0}},
	}.pickle()))
	h.run(0, "snapshot", hostile)
	h.run(0, "snapshot", hostile, "--stacks", "--log", "log", "--trace", "trace")
	var shown struct {
		Path    string
		Devices []struct {
			Holds []struct{ Site struct{ Function string } }
		}
	}
	if err := json.Unmarshal(h.run(0, "snapshot", hostile, "--format", "json"), &shown); err != nil {
		t.Fatal(err)
	}
	if d := shown.Devices; len(d) != 1 || len(d[0].Holds) != 1 || d[0].Holds[0].Site.Function != x {
		t.Errorf("JSON gave back %+v", shown)
	}
	h.run(0, "snapshot", hostile, "--stacks", "--pprof", "profile.pb.gz")
	compressed, err := os.Open(filepath.Join(h.dir, "profile.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = compressed.Close() }() // only read
	p, err := profile.Parse(compressed)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Function { // go tool pprof prints them as they are
		demandHarmless(t, "pprof", []byte(f.Name+f.Filename))
	}
	h.run(-1, "replay", "trace")
	h.run(-1, "check", "log")
	h.demandFiles(hostile, "profile.pb.gz")
}

// A dict has keys and values in turn, as a pickle of Python's has them.
type dict []any

func (d dict) pickle() []byte { return append(appendPickle([]byte{0x80, 2}, d), '.') }

func appendPickle(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return append(b, 0x89) // False
	case int:
		return binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(v))
	case string:
		return append(binary.LittleEndian.AppendUint32(append(b, 'X'), uint32(len(v))), v...)
	case []any:
		b = append(b, ']', '(')
		for _, item := range v {
			b = appendPickle(b, item)
		}
		return append(b, 'e')
	case dict:
		b = append(b, '}', '(')
		for _, item := range v {
			b = appendPickle(b, item)
		}
		return append(b, 'u')
	}
	return b
}
