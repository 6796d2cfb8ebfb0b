package nearmiss

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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
			"已用显存：512 MB / 24 GB",
			`"GPU memory" sampled total=25769803776±536870912 used=536870912` + half, "", "",
		},
		{
			"After Whisper >> cuda mem held = 512 MB", `"After Whisper" allocated=536870912` + half,
			"Before A2 >> cuda mem held = 1 MB", `"Before A2" allocated=1048576` + half,
		},
		{
			"mem on gpu0 now 512MiB", `"GPU memory" sampled allocated=536870912` + half,
			"mem on gpu12 now 1MiB", `"GPU memory" sampled device=12 allocated=1048576` + half,
		},
		{"it's the cuda mem: 512 MB", `"GPU memory" sampled allocated=536870912` + half, "", ""},
		{"gpu_ram_used_mb=512", `"GPU memory" sampled used=536870912` + half, "", ""},
		{"Видеопамять: 512 МБ", `"GPU memory" sampled allocated=536870912` + half, "", ""},
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

// TestHostile: long lines, many lines and odd characters are judged in little time. What is offered
// reads the line that was found.
func TestHostile(t *testing.T) {
	const limit = 20 * time.Second // they take less than 1 s on an idle computer
	start := time.Now()
	for _, c := range []struct {
		log     string
		unclear string // "" if a dialect is offered
	}{
		{strings.Repeat("GPU memory held 1 GB ", 1<<20), whichNumber},
		{strings.Repeat("GPU memory: 1 GB after\n", 1<<18), ""},
		{"GPU mem: 1 GB " + strings.Repeat("1 ", 1<<20), ""},
		{strings.Repeat("显存1GB", 1<<18), whichNumber},
		{strings.Repeat("GPU memory: "+strings.Repeat("9", 30)+" GB\n", 100), noPattern},
		{"显存: 1 GB\x00\x01'\n", ""},
		{"GPU mem '\u202e: 1 GB\n", ""},
		{"GPU mem (?P<x>: 1 GB\n", ""},
	} {
		found, ok := find(c.log)
		if !ok || found.Unclear != c.unclear || (found.YAML == "") != (c.unclear != "") {
			t.Errorf("%.40q: found %v, %q, want %q", c.log, ok, found.Unclear, c.unclear)
			continue
		}
		if found.YAML != "" {
			p := load(t, found.YAML)
			if p.Lines[0].Read(p.Name, found.Text) == "" {
				t.Errorf("%.40q is not read by\n%s", c.log, found.YAML)
			}
		}
	}
	if took := time.Since(start); took > limit {
		t.Errorf("it took %s, want less than %s", took, limit)
	}
}

// TestQuantities: the word nearest before a number, or directly behind it, names its quantity. Each
// number with a sure quantity is read.
func TestQuantities(t *testing.T) {
	const gib = 1 << 30
	half := fmt.Sprintf("±%d", gib/2)
	size := func(q string, n int) string { return fmt.Sprintf(" %s=%d%s", q, n*gib, half) }
	exact := func(q string, n int) string { return fmt.Sprintf(" %s=%d", q, n*gib) }
	const sampled, cleanup = `"GPU memory" sampled`, `"Before cleanup"`
	for _, c := range []struct{ line, gives string }{
		{"24 GB total, 16 GB free GPU memory", sampled + size("total", 24) + size("free", 16)},
		{"gpu mem: used=8GiB free=16GiB", sampled + size("free", 16) + size("used", 8)},
		{"GPU mem held: free=16GiB used=8GiB", sampled + size("free", 16) + size("used", 8)},
		{
			"gpu.mem.allocated=1073741824 gpu.mem.reserved=2147483648",
			sampled + exact("allocated", 1) + exact("reserved", 2),
		},
		{"→ GPU 8 GB (reserved 9 GB)", sampled + size("reserved", 9)},
		{"GPU memory current: 7 GB peak: 8 GB", sampled + size("allocated", 7) + size("peak", 8)},
		{"gpu memory left: 16 GB", sampled + size("free", 16)},
		{"peak_mem=8GiB cur_mem=7GiB", sampled + size("allocated", 7) + size("peak", 8)},
		{"GPU memory (allocated/reserved): 7/8 GB", sampled + size("allocated", 7) + size("reserved", 8)},
		{"GPU mem used/total: 7/24 GB", sampled + size("total", 24) + size("used", 7)},
		{"cuda mem (peak reserved): 8 GB", sampled + size("peak_reserved", 8)},
		{
			"Before cleanup: 7 GB allocated of 24 GB total",
			cleanup + size("allocated", 7) + size("total", 24),
		},
		{
			"Before cleanup: reserved 8 GB, allocated 7 GB",
			cleanup + size("allocated", 7) + size("reserved", 8),
		},
		{"Using 8 GB of 24 GB VRAM", sampled + size("total", 24) + size("used", 8)},
		{"显存占用: 8 GB / 24 GB", sampled + size("total", 24) + size("used", 8)},
		{"GPU memory: 16 GB free of 24 GB", sampled + size("total", 24) + size("free", 16)},
		{"Memory: CPU 12 GB, GPU 7 GB", sampled + size("allocated", 7)},
		{"Memory: GPU 7 GB, CPU 12 GB", sampled + size("allocated", 7)},
		{"RAM: 12 GB | VRAM: 8 GB", sampled + size("allocated", 8)},
		{"GPU memory: 7 GB (+2 GB)", sampled + size("allocated", 7)},
		{"Freed 7 GB of GPU memory (1 GB still allocated)", sampled + size("allocated", 1)},
		{"[gpu] used: 8 GB (16 GB free)", sampled + size("free", 16) + size("used", 8)},
		{
			"GPU0 memory: 8 GB, GPU1 memory: 1 GB",
			sampled + size("allocated", 8) + `; "GPU memory" sampled device=1` + size("allocated", 1),
		},
		{"GPU[1] mem held 8 GB", `"GPU memory" sampled device=1` + size("allocated", 8)},
		{"cuda:1 mem held 8 GB", `"GPU memory" sampled device=1` + size("allocated", 8)},
		{
			"cudaMemGetInfo: free=17179869184 total=25769803776",
			sampled + exact("total", 24) + exact("free", 16),
		},
		{
			`{"gpu": {"allocated": 1073741824, "reserved": 2147483648}}`,
			sampled + exact("allocated", 1) + exact("reserved", 2),
		},
		{"memory_allocated: 2147483648", sampled + exact("allocated", 2)},
		{
			"before cleanup allocated=1073741824 reserved=2147483648",
			`"before cleanup"` + exact("allocated", 1) + exact("reserved", 2),
		},
		{
			"phase=before alloc_bytes=1073741824 resv_bytes=2147483648",
			`"before"` + exact("allocated", 1) + exact("reserved", 2),
		},
		{
			"cuda:0 bytes_in_use=1073741824 peak_bytes_in_use=2147483648 bytes_limit=25769803776",
			sampled + exact("peak", 2) + exact("used", 1),
		},
	} {
		found, ok := find(c.line + "\n")
		if !ok || found.YAML == "" {
			t.Errorf("%q: found %v, %+v", c.line, ok, found)
			continue
		}
		p := load(t, found.YAML)
		if gives := p.Lines[0].Read(p.Name, c.line); gives != c.gives {
			t.Errorf("%q: read %s, want %s, by\n%s", c.line, gives, c.gives, found.YAML)
		}
	}
}

// TestUnits: the unit is behind the number, in its label, or in an expression that divides bytes.
func TestUnits(t *testing.T) {
	const sampled = `"GPU memory" sampled allocated=`
	for _, c := range []struct{ line, gives string }{
		{"GPU memory [MB]: 512", sampled + "536870912±524288"},
		{"GPU memory in GB: 2", sampled + "2147483648±536870912"},
		{"torch.cuda.memory_allocated()/1024**3=2", sampled + "2147483648±536870912"},
		{"torch.cuda.memory_allocated() / (1024 * 1024): 512", sampled + "536870912±524288"},
		{"torch.cuda.memory_allocated()/1e9=2.5", sampled + "2500000000±50000000"},
		{"GPU mem held: 5.12e+02 MB", sampled + "536870912±524288"},
		{"GPU mem held: 5.12e+09 bytes", sampled + "5120000000±5000000"},
	} {
		found, ok := find(c.line + "\n")
		if !ok || found.YAML == "" {
			t.Errorf("%q: found %v, %+v", c.line, ok, found)
			continue
		}
		p := load(t, found.YAML)
		if gives := p.Lines[0].Read(p.Name, c.line); gives != c.gives {
			t.Errorf("%q: read %s, want %s, by\n%s", c.line, gives, c.gives, found.YAML)
		}
	}
}

// TestUnclear: a line is quoted without a dialect if its meaning is not sure.
func TestUnclear(t *testing.T) {
	for _, c := range []struct{ line, unclear string }{
		{"VRAM: 8.10/24.00 GB", whichIsUsed},
		{"[Before cleanup] CUDA mem: 7.23 / 8.10 GB", whichIsUsed},
		{"GPU memory: 7.23 GB of 24.00 GB", whichIsUsed},
		{"GPU memory allocated: 7.23", noUnit},
		{"GPU memory allocated: 512", noUnit},
		{"epoch 0 max mem: 8294", noUnit},
		{`{"index": 0, "memory.used": 8294, "memory.total": 24576}`, noUnit},
		{"GPU memory allocated: 7_763_152_896 bytes", oddNumber},
		{"GPU memory allocated: 7'763'152'896 bytes", oddNumber},
		{"GPU memory allocated: 7\u202f763\u202f152\u202f896 bytes", oddNumber},
		{"GPU memory allocated: 7\u00a0763\u00a0152\u00a0896 bytes", oddNumber},
		{"GPU memory allocated: 7 763 152 896 bytes", oddNumber},
		{"GPU memory allocated: 7,23 GB", eitherComma},
		{"GPU memory allocated: 7,763 GB", eitherComma},
		{"GPU memory increased by 7.23 GB", noLevel},
		{"GPU memory saved: 7.23 GB", noLevel},
		{"GPU memory required: 7.23 GB", noLevel},
		{"GPU memory limit: 20.00 GB", noLevel},
		{"GPU memory freed: 7.05 GB", noLevel},
		{"GPU mem 7.23 -> 0.18 GB after gc.collect()", noLevel},
		{"GPU mem 7.23 GB to 0.18 GB", noLevel},
		{"GPU memory: min 3 GB max 5 GB", noLevel},
		{"GPU memory pool size: 8 GB", noLevel},
		{"16282 MB free of 24576 MB", noGPU},
		{"mem_get_info: (17072914432, 25769803776)", whichNumber},
		{"GPU mem 7 GB, then 8 GB", whichNumber},
		{"GPU0: 7.23 GB, GPU1: 0.50 GB used", whichNumber},
		{"GPU mem used: 7 GB free", whichWord},
	} {
		found, ok := find("epoch 1\n" + c.line + "\n")
		if !ok || found.Text != c.line || found.YAML != "" || found.Unclear != c.unclear {
			t.Errorf("%q: found %v, %+v, want %q", c.line, ok, found, c.unclear)
		}
	}
}

// TestAlike: a dialect reads all lines that look like the one that was found. Its pattern has
// nothing that changes from line to line.
func TestAlike(t *testing.T) {
	for _, c := range []struct{ name, log, not string }{
		{"a stage", "load: cuda mem=2MB\nasr: cuda mem=3MB\n", "load"},
		{"a file", "a.wav: gpu mem 2 MB\nb.wav: gpu mem 3 MB\n", "wav"},
		{"a date", "Thu Nov 26 10:26:07 UTC 2026 GPU mem held: 2 MiB\n" +
			"Fri Dec 4 10:26:07 UTC 2026 GPU mem held: 3 MiB\n", "Nov"},
		{"a moment", "[MEM] before_asr: gpu_alloc=2MB gpu_rsvd=3MB cpu_rss=9MB\n" +
			"[MEM] after_tts: gpu_alloc=1MB gpu_rsvd=3MB cpu_rss=9MB\n", "asr"},
		{"a word in the label", "gpu mem of whisper = 2 MB\ngpu mem of pyannote = 3 MB\n", "whisper"},
		{"words in the label", "gpu mem of the asr = 2 MB\ngpu mem of pyannote = 3 MB\n", "asr"},
		{"units", "GPU mem held: 1.5 GB\nGPU mem held: 512 MB\n", "1.5"},
		{"bytes", "GPU mem held: 2147483648\nGPU mem held: 512\n", "512"},
		{"a field", "stage=before gpu.alloc_gb=2\nstage=after gpu.alloc_gb=1\n", "stage=before"},
		{"a counter", "gpu mem after batch 1 = 2 MB\ngpu mem after batch 22 = 3 MB\n", "22"},
	} {
		found, ok := find(c.log)
		if !ok || found.YAML == "" || strings.Contains(found.YAML, c.not) {
			t.Errorf("%s: found %v, %+v", c.name, ok, found)
			continue
		}
		p := load(t, found.YAML)
		for line := range strings.Lines(c.log) {
			if p.Lines[0].Read(p.Name, strings.TrimSpace(line)) == "" {
				t.Errorf("%s: %q is not read by\n%s", c.name, line, found.YAML)
			}
		}
	}
}

// TestOthers: no dialect is offered whose pattern also reads another line as something that it does
// not say.
func TestOthers(t *testing.T) {
	log := "GPU mem held 3 GB\nGPU mem held 3 GB required\n"
	if found, ok := find(log); !ok || found.YAML != "" || found.Unclear != noPattern {
		t.Errorf("found %v, %+v", ok, found)
	}
}

// TestTable: the header of a table with rows of numbers is quoted.
func TestTable(t *testing.T) {
	log := "start\nfile,stage,allocated_mb,reserved_mb\n0,before,512.5,1024.0\n"
	if found, ok := find(log); !ok || found.Number != 2 || found.Unclear != isTable {
		t.Errorf("found %v, %+v", ok, found)
	}
	if found, ok := find("memory, compute and disk\nare all here, now\n"); ok {
		t.Errorf("found %+v", found)
	}
}

// TestRandom: logs of random pieces are searched without a panic. An offered dialect reads the line
// that was found, with at least one size, and no size is negative or unreadable.
func TestRandom(t *testing.T) {
	pieces := []string{
		"GPU memory", "gpu", "allocated", "reserved", "VRAM", "peak ", "Before ", "after A", ": ", "=",
		" - ", "1.25", "2", " GB", "MB", "(", ")", "[", "]", "(GB)", "_mb", "alloc_mb", `"`, "'", "{",
		"}", ",", "|", "/", " of ", "cuda:0", "GPU 1", "gpu2", "🧹", "：", "\xff", "\t", "\r", "-", "~",
		"+",
		"1,234,567", "999999999999999999999", "1e9", "7_763", "memory_allocated()", "/1024**3", "显存",
		"占用", "->", "RAM", "cpu", "free", "used", "total", "limit", "4294967296", " ", " ", "\n",
	}
	random := rand.New(rand.NewPCG(7, 8))
	offered := 0
	for range 2_000 {
		var log strings.Builder
		for range 1 + random.IntN(24) {
			log.WriteString(pieces[random.IntN(len(pieces))])
		}
		found, ok := find(log.String())
		if !ok || found.YAML == "" {
			if ok && found.Unclear == "" {
				t.Errorf("%q: found %+v without a reason", log.String(), found)
			}
			continue
		}
		offered++
		p := load(t, found.YAML)
		gives := p.Lines[0].Read(p.Name, found.Text)
		if gives == "" || strings.Contains(gives, "=-") || strings.Contains(gives, "torn") {
			t.Errorf("%q: read %s by\n%s", found.Text, gives, found.YAML)
		}
	}
	if offered < 20 {
		t.Errorf("%d dialects were offered, which is too few for this test", offered)
	}
}
