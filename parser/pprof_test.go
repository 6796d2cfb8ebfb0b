package parser_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// jaxProfile returns a memory profile as JAX writes it. Each line in lines has the form "kind
// device count bytes".
func jaxProfile(t testing.TB, lines ...string) *profile.Profile {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "allocations", Unit: "count"},
			{Type: "space", Unit: "bytes"},
		},
	}
	for _, line := range lines {
		var kind, device string
		s := &profile.Sample{Value: make([]int64, 2)}
		if _, err := fmt.Sscan(line, &kind, &device, &s.Value[0], &s.Value[1]); err != nil {
			t.Fatal(err)
		}
		s.Label = map[string][]string{"kind": {kind}}
		if device != "-" {
			s.Label["device"] = []string{device}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func marshal(t testing.TB, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProfile(t *testing.T) {
	heap := jaxProfile(t, "buffer cuda:0 1 1")
	heap.SampleType = []*profile.ValueType{
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}
	whole := marshal(t, jaxProfile(t, "buffer cuda:0 1 1024"))
	for name, c := range map[string]struct{ log, want string }{
		"devices": {
			marshal(t, jaxProfile(t, "buffer cuda:0 2 2048", "buffer cuda:11 1 512", "executable - 1 100",
				"buffer cuda:0 1 1")),
			"1 checkpoint \"buffers\" device=0 rank=0 sampled allocated=2049\n" +
				"1 checkpoint \"buffers\" device=11 rank=0 sampled allocated=512\n" +
				"1 checkpoint \"executables\" device=0 rank=0 sampled buffer=100\n",
		},
		"TPU": {
			marshal(t, jaxProfile(t, "buffer TPU_3(process=0,(1,1,0,0)) 2 2048")),
			"1 checkpoint \"buffers\" device=3 rank=0 sampled allocated=2048\n",
		},
		"host": {
			marshal(t, jaxProfile(t, "buffer TFRT_CPU_0 2 2048", "executable - 1 100")),
			"1 warning failed 0.0%\n",
		},
		"old host": {marshal(t, jaxProfile(t, "buffer cpu:0 2 2048")), "1 warning failed 0.0%\n"},
		"host and GPU": {
			marshal(t, jaxProfile(t, "buffer cpu:0 2 9", "buffer gpu:1 1 7")),
			"1 checkpoint \"buffers\" device=1 rank=0 sampled allocated=7\n",
		},
		"empty": {marshal(t, jaxProfile(t)), "1 warning failed 0.0%\n"},
		"executables of unknown size": {
			marshal(t, jaxProfile(t, "buffer cuda:0 1 1024", "executable - 1 -1", "executable - 1 100",
				"executable - 2 -2")),
			"1 checkpoint \"buffers\" device=0 rank=0 sampled allocated=1024\n" +
				"1 checkpoint \"executables\" device=0 rank=0 sampled buffer=100\n" +
				"1 warning notice 0.0%\n",
		},
		"only executables of unknown size": {
			marshal(t, jaxProfile(t, "buffer cuda:0 1 1024", "executable - 3 -3")),
			"1 checkpoint \"buffers\" device=0 rank=0 sampled allocated=1024\n1 warning notice 0.0%\n",
		},
		"nothing but executables of unknown size": {
			marshal(t, jaxProfile(t, "executable - 1 -1")),
			"1 warning failed 0.0%\n1 warning notice 0.0%\n",
		},
		"negative": {
			marshal(t, jaxProfile(t, "buffer gpu:1 1 -7")),
			"1 unreadable: expected bytes from 0 to 4 EiB, found \"-7\"\n",
		},
		"too much": {
			marshal(t, jaxProfile(t, "buffer gpu:1 1 4611686018427387903", "buffer gpu:1 1 1")),
			"1 unreadable: expected bytes from 0 to 4 EiB, found \"1\"\n",
		},
		"no device": {
			marshal(t, jaxProfile(t, "buffer - 1 7")),
			"1 unreadable: expected a buffer's device such as cuda:0, which the profiles of old versions of jaxlib do not have, found \"\"\n",
		},
		"another kind": {
			marshal(t, jaxProfile(t, "page gpu:0 1 7")),
			"1 unreadable: expected a sample's kind, buffer or executable, found \"page\"\n",
		},
		"a heap of Go": {
			marshal(t, heap),
			"1 unreadable: expected the sample types allocations/count and space/bytes of a device memory profile, " +
				"found \"inuse_objects/count inuse_space/bytes\"\n",
		},
		"cut": {
			whole[:len(whole)-3],
			"1 unreadable: expected a whole profile in the pprof format, found \"a message that is cut off or broken\"\n",
		},
		"many messages": {
			whole + strings.Repeat("\x12\x00", 1<<20),
			"1 unreadable: expected a profile of at most 1048576 messages, found \"more\"\n",
		},
		"large": {
			whole + strings.Repeat("\x00", 33<<20),
			"1 unreadable: expected a profile of at most 32.0 MiB, found \"more\"\n",
		},
		"not a profile": {"\n\x04text\n" + line, renderRecords(t, []byte("\n\x04text\n"+line))},
	} {
		if diff := cmp.Diff(c.want, renderRecords(t, []byte(c.log))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestProfileBomb: reading a profile that is small when compressed but large in memory takes a
// limited amount of memory.
func TestProfileBomb(t *testing.T) {
	whole := marshal(t, jaxProfile(t, "buffer cuda:0 1 1024"))
	numbers := strings.Repeat("\x01", 30<<20)
	for name, log := range map[string]string{
		"samples":   whole + strings.Repeat("\x12\x00", 1<<20-16),
		"locations": whole + "\x12\x84\x80\x80\x0f\x0a" + "\x80\x80\x80\x0f" + numbers,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		renderRecords(t, []byte(log))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<30 {
			t.Errorf("%s: reading took %d bytes of memory", name, used)
		}
	}
}

func FuzzProfile(f *testing.F) {
	paths, err := filepath.Glob("../fixtures/logs/jax_prof/*.prof")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no profiles: %v", err)
	}
	for _, path := range paths {
		packed, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			f.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[6:])
	}
	f.Add(
		[]byte(marshal(f, jaxProfile(f, "buffer cuda:0 2 2048", "executable - 1 100",
			"buffer TPU_0(process=0,(0,0)) 1 1")))[6:],
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for rec, err := range parser.Read(io.MultiReader(strings.NewReader("\x0a\x04\x08\x01\x10\x02"),
			bytes.NewReader(data)), "fuzz") {
			if err != nil {
				t.Fatalf("an error from memory: %v", err)
			}
			if c, ok := rec.(record.Checkpoint); ok && (c.Len() != 1 || c.Bytes(record.Allocated) < 0) {
				t.Fatalf("got %+v, want one size of 0 or more", c)
			}
			n++
		}
		if n == 0 {
			t.Fatal("got neither a record nor an error")
		}
	})
}
