package nearmiss

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"vramsoak/parser/dialect/table"
	"vramsoak/parser/strictyaml"
)

// find returns the line that a Finder finds in a log.
func find(log string) (Line, bool) {
	var f Finder
	_, _ = io.WriteString(&f, log)
	return f.Line()
}

// load returns the dialect in a file as a Finder writes it.
func load(t *testing.T, text string) table.Program {
	t.Helper()
	r := strictyaml.New("my-log.yaml")
	var programs []table.Program
	if body := r.Document([]byte(text), "dialects", ""); body != nil {
		entries, _ := r.Entries(body, 0)
		for _, e := range entries {
			programs = table.Load(r, e.Value, nil)
		}
	}
	if err := r.Err(); err != nil || len(programs) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return programs[0]
}

// TestDialects: the written dialect reads the line that was found, and another line of its kind.
func TestDialects(t *testing.T) {
	const mib = 1 << 20
	half := fmt.Sprintf("±%d", mib/2)
	for _, c := range []struct{ line, gives, other, gives2 string }{
		{
			"显存占用: 512 MB", `"GPU memory" sampled used=536870912` + half,
			"显存占用: 1 GB", `"GPU memory" sampled used=1073741824±536870912`,
		},
		{
			"GPUメモリ: 2GB", `"GPU memory" sampled allocated=2147483648±536870912`,
			"GPUメモリ:  512MB", "",
		},
		{
			"할당된 메모리: 512 MB", `"GPU memory" sampled allocated=536870912` + half,
			"할당된  메모리:  1 MB", `"GPU memory" sampled allocated=1048576` + half,
		},
		{
			"显存峰值=512MiB", `"GPU memory" sampled peak=536870912` + half,
			"显存峰值=1MiB", `"GPU memory" sampled peak=1048576` + half,
		},
		{
			"已用显存：512 MB / 24 GB", `"GPU memory" sampled used=536870912` + half, "", "",
		},
		{
			"After Whisper >> cuda mem held = 512 MB", `"After Whisper" allocated=536870912` + half,
			"Before A2 >> cuda mem held = 1 MB", `"Before A2" allocated=1048576` + half,
		},
		{
			"mem on gpu0 now 512MiB", `"GPU memory" sampled allocated=536870912` + half,
			"mem on gpu12 now 1MiB", `"GPU memory" sampled allocated=1048576` + half,
		},
		{"it's the cuda mem: 512 MB", `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"gpu_ram_used_mb=512", `"GPU memory" sampled used=536870912` + half, "", ""},
		{"Видеопамять: 512 МБ", `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"GPU memory allocated: 512", `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"GPU memory: 1,073,741,824", `"GPU memory" sampled allocated=1073741824`, "", ""},
		{`{"gpu":{"mem":"512 MB"}}`, `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"512 MB on the GPU, memory held", `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"📊 显存\t 512 MB (5%)", `"GPU memory" sampled allocated=536870912` + half, "", ""},
	} {
		found, ok := find("epoch 1\n" + c.line + "\nepoch 2\n")
		if !ok || found.Number != 2 || found.Text != c.line || found.YAML == "" {
			t.Errorf("%q: found %v, %+v", c.line, ok, found)
			continue
		}
		p := load(t, found.YAML)
		if gives := p.Lines[0].Read(p.Name, c.line); gives != c.gives {
			t.Errorf("%q: read %s, want %s, by\n%s", c.line, gives, c.gives, found.YAML)
		}
		if c.gives2 != "" {
			if gives := p.Lines[0].Read(p.Name, c.other); gives != c.gives2 {
				t.Errorf("%q: read %s, want %s, by\n%s", c.other, gives, c.gives2, found.YAML)
			}
		}
	}
}

// TestNearest: the line with more words for a reading of GPU memory is found, not the first one.
func TestNearest(t *testing.T) {
	log := "Memory usage: 12 GB\nRAM memory: 3 GB\nGPU: A100\ncuda mem held: 3 GB after load\n" +
		"GPU memory limit: 20 GB\n"
	if found, ok := find(log); !ok || found.Number != 4 {
		t.Errorf("found %v, %+v", ok, found)
	}
}

// TestNothing: lines that do not look like a reading are not found.
func TestNothing(t *testing.T) {
	for _, line := range []string{
		"epoch 1 loss 0.5", "GPU: NVIDIA A100", "RAM: 12 GB", "CPU memory: 12 GB", "GPU load: 95%",
		"pin_memory=True", "memory 1", "GPU 0 at 71 C", "cuda 12.4", "Downloaded 3 GB",
		"memory bandwidth 900 GB/s", `print(f"显存: {x:.2f} GB")`, "torch 2.6.0+cu124 CUDA 12.4",
		"CUDA out of memory. Tried to allocate 2.00 GiB.", "显存不足", "\xff\xfe显存: 1 GB", "",
	} {
		if found, ok := find("a\n" + line + "\nb\n"); ok {
			t.Errorf("%q: found %+v", line, found)
		}
	}
}

// TestPieces: the result does not depend on how the log is cut into pieces. The last line may have
// no newline.
func TestPieces(t *testing.T) {
	log := strings.Repeat("epoch 1 loss 0.5\n", 50) + "memory at 3\r显存占用: 1.25 GB\n" +
		strings.Repeat("x", 3*lineMax) + "\n" + "GPU memory used: 2 GB after load"
	want, ok := find(log)
	if !ok || want.Number != 53 {
		t.Fatalf("found %v, %+v", ok, want)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var f Finder
		for rest := log; len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 1+random.IntN(300)))
			_, _ = io.WriteString(&f, rest[:n])
			rest = rest[n:]
		}
		if got, _ := f.Line(); got != want {
			t.Fatalf("found %+v, want %+v", got, want)
		}
	}
}

// TestHostile: long lines and many lines with words for memory take little time.
func TestHostile(t *testing.T) {
	for _, log := range []string{
		strings.Repeat("GPU memory ", 1<<20), strings.Repeat("GPU memory: 1 GB after\n", 1<<18),
		strings.Repeat("1 ", 1<<20) + "GPU ", strings.Repeat("显存1", 1<<18),
		strings.Repeat("GPU memory: "+strings.Repeat("9", 30)+" GB\n", 100), "显存: 1 GB\x00\x01'\n",
		"GPU mem '\u202e: 1 GB\n", "GPU mem (?P<x>: 1 GB\n",
	} {
		if found, ok := find(log); ok && found.YAML != "" {
			p := load(t, found.YAML)
			if p.Lines[0].Read(p.Name, found.Text) == "" {
				t.Errorf("%.40q is not read by\n%s", log, found.YAML)
			}
		}
	}
}
