package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readingOf returns the record of a checkpoint of one device of 1000 bytes. What the last argument
// has stands behind the reading.
func readingOf(name, reading, behind string) string {
	return name + " " + reading + " inactive_split=7" + behind + " device=0 rank=0\n"
}

// TestPythonFree: the functions of vramfree act on the device of the stand-in, and vramsoak reads
// what they print.
func TestPythonFree(t *testing.T) {
	const (
		failed = "out of memory: 0 B wanted on device 0\n"
		small  = "STANDIN_TOTAL=1000"
	)
	for _, c := range []struct {
		name, program string
		env           []string
		want          string
	}{
		{
			"before CUDA is initialized, nothing acts", `
import torch, vramlog
assert vramlog.clear_gpu_memory() == {} and vramlog.reset_peak() == {}
assert vramlog.memory_stats() == {}
assert torch.cuda.acted == [] and not torch.cuda.is_initialized()
`, nil, "",
		},
		{
			"the cache and unreachable tensors are freed", `
import gc, torch, vramlog
gc.disable()
a, b = torch.zeros(300, "cuda"), torch.zeros(20, "cuda:1")
class Loop: pass
loop = Loop()
loop.itself, loop.tensor = loop, torch.zeros(50, "cuda")
del a, loop
freed = vramlog.clear_gpu_memory("before\ntranscription")
assert freed == {0: {"allocated": 50, "reserved": 350}, 1: {"allocated": 0, "reserved": 0}}, freed
assert torch.cuda.acted == ["synchronize 0", "synchronize 1", "ipc_collect", "empty_cache"]
`,
			[]string{"STANDIN_TOTAL=1000", "STANDIN_DEVICES=3"},
			"event cache-cleared: Cleared GPU cache before transcription: device 0 returned 350 B " +
				"and freed 50 B of tensors; device 1 returned 0 B and freed 0 B of tensors\n",
		},
		{
			"the numbers, and a new peak", `
import torch, vramlog
kept = torch.zeros(200, "cuda")
torch.zeros(400, "cuda")
numbers = {
    "allocated": 200, "reserved": 600, "peak": 600, "peak_reserved": 600, "active": 200,
    "inactive_split": 7, "total": 1000, "free": 400, "used": 600, "used_share": 0.6,
}
assert vramlog.memory_stats() == {0: numbers}, vramlog.memory_stats()
assert vramlog.reset_peak() == {0: {"peak": 600, "peak_reserved": 600}}
numbers["peak"] = 200
assert vramlog.memory_stats() == {0: numbers}, vramlog.memory_stats()
`, []string{small}, "event peak-reset: GPU peak memory statistics reset\n",
		},
		{
			"a driver that fails does not end the program", `
import torch, vramlog
torch.zeros(10, "cuda")
assert vramlog.clear_gpu_memory() == {} and vramlog.reset_peak() == {}
assert vramlog.memory_stats() == {}
`, []string{"STANDIN_BROKEN=1"}, "",
		},
		{
			"what a function made is freed", `
import torch, vramlog
class Model:
    def __init__(self):
        self.layers = {"a": [torch.zeros(300, "cuda")], "b": torch.zeros(100, "cuda")}
with vramlog.freeing("Whisper", Model) as m:
    assert m.value.layers["b"].size == 100
assert m.stayed == 0 and m.referrers == []
try:
    m.value
    assert False
except ReferenceError as e:
    assert str(e) == "Whisper was freed when its block ended"
`,
			[]string{small},
			readingOf("Before Whisper Cleanup", "allocated=400 reserved=400 total=1000 peak=400 "+
				"peak_reserved=400 active=400", " holds=400") +
				readingOf("After Whisper Cleanup", "allocated=0 reserved=0 total=1000 peak=400 "+
					"peak_reserved=400 active=0", ""),
		},
		{
			"attributes, keys and contents are freed", `
import torch, vramlog
class Pipeline: pass
p = Pipeline()
with vramlog.freeing("A", p, "model", "processor"):
    p.model, p.name = torch.zeros(100, "cuda"), "kept"
assert p.model is None and p.name == "kept"
models = {"a": torch.zeros(200, "cuda"), 2: 3}
with vramlog.freeing("B", models, "a", "missing"): pass
assert models == {2: 3}
models = [torch.zeros(300, "cuda")]
with vramlog.freeing("C", models): pass
assert models == []
`,
			[]string{small},
			readingOf("Before A Cleanup", "allocated=100 reserved=100 total=1000 peak=100 "+
				"peak_reserved=100 active=100", " holds=100") +
				readingOf("After A Cleanup", "allocated=0 reserved=0 total=1000 peak=100 "+
					"peak_reserved=100 active=0", "") +
				readingOf("Before B Cleanup", "allocated=200 reserved=200 total=1000 peak=200 "+
					"peak_reserved=200 active=200", " holds=200") +
				readingOf("After B Cleanup", "allocated=0 reserved=0 total=1000 peak=200 "+
					"peak_reserved=200 active=0", "") +
				readingOf("Before C Cleanup", "allocated=300 reserved=300 total=1000 peak=300 "+
					"peak_reserved=300 active=300", " holds=300") +
				readingOf("After C Cleanup", "allocated=0 reserved=0 total=1000 peak=300 "+
					"peak_reserved=300 active=0", ""),
		},
		{
			"what stays is named, and vramsoak sees it", `
import torch, vramlog
class Model:
    def __init__(self): self.weight = torch.zeros(300, "cuda")
kept = []
def work():
    with vramlog.freeing("Whisper", Model) as m:
        kept.append(m.value)
    return m
m = work()
assert m.stayed == 300 and m.referrers == ["list __main__.kept"], m.referrers
`,
			[]string{small},
			readingOf("Before Whisper Cleanup", "allocated=300 reserved=300 total=1000 peak=300 "+
				"peak_reserved=300 active=300", " holds=300") +
				readingOf("After Whisper Cleanup", "allocated=300 reserved=300 total=1000 peak=300 "+
					"peak_reserved=300 active=300", ""),
		},
		{
			"a batch that is too large is halved", `
import torch, vramlog
seen = []
@vramlog.retry_on_oom(batch="n")
def work(n):
    seen.append((n, torch.cuda.memory_stats(0)["allocated_bytes.all.current"]))
    scratch = torch.zeros(600, "cuda")
    return torch.zeros(100 * n, "cuda").size
with vramlog.file("a.wav", readings=False):
    assert work(16) == 400
# Nothing of a failed call is left when the next one begins.
assert seen == [(16, 0), (8, 0), (4, 0)], seen
`,
			[]string{small, "VRAMLOG_SEGMENTS=off"},
			"start \"a.wav\" 0.00\n" + failed + "event cache-cleared: Cleared GPU cache before the " +
				"retry: device 0 returned 600 B and freed 0 B of tensors\n" +
				"event fallback: Attempting GPU recovery and retry with smaller batch: work with " +
				"n=8, before 16\n" + failed + "event cache-cleared: Cleared GPU cache before the " +
				"retry: device 0 returned 600 B and freed 0 B of tensors\n" +
				"event fallback: Attempting GPU recovery and retry with smaller batch: work with " +
				"n=4, before 8\nend \"a.wav\" ok \"\"\n",
		},
		{
			"the error is passed on, and advice has no invented number", `
import torch, vramlog
@vramlog.retry_on_oom(smallest=2)
def work(batch_size=3):
    torch.zeros(2000, "cuda")
try:
    work()
except torch.cuda.OutOfMemoryError as e:
    assert e.__cause__ is None and e.__context__ is None
    print("passed on")
`,
			[]string{small, "VRAMLOG_SEGMENTS=off"},
			failed + "event cache-cleared: Cleared GPU cache before the retry: device 0 returned " +
				"0 B and freed 0 B of tensors\nevent fallback: Attempting GPU recovery and retry " +
				"with smaller batch: work with batch_size=2, before 3\n" + failed,
		},
		{"switched off, everything is done and nothing is printed", `
import torch, vramlog
torch.zeros(10, "cuda")
assert vramlog.clear_gpu_memory() == {0: {"allocated": 0, "reserved": 10}}
with vramlog.freeing("A", lambda: torch.zeros(10, "cuda")): pass
assert vramlog.memory_stats()[0]["reserved"] == 0
vramlog.reset_peak()
`, []string{"VRAMLOG=off"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPython(t, func(t *testing.T, p python) {
				stdout, stderr := p.output(t, "standin", c.program, c.env...)
				if diff := cmp.Diff(c.want, said(t, stdout)); diff != "" {
					t.Errorf("(-want +got):\n%s\nprinted:\n%s%s", diff, stdout, stderr)
				}
			})
		})
	}
}

// TestPythonFreeWarns: a person reads in the log what stayed, and advice with the bytes that are
// known.
func TestPythonFreeWarns(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"a variable", `
import torch, vramlog
class Model:
    def __init__(self): self.weight = torch.zeros(2 << 20, "cuda")
def work():
    with vramlog.freeing("Whisper", Model) as m:
        model = m.value
work()
`, "WARNING: Whisper Cleanup: 2.00 MiB stayed on cuda:0: Model is still referenced by model in " +
			"work() (<string>:"},
		{"an object of another library", `
import torch, vramlog
class Engine: pass
engines = [None]
with vramlog.freeing("Engine", Engine) as m:
    engines[0] = m.value
`, "WARNING: Engine Cleanup: Engine is still referenced by list __main__.engines; its memory is " +
			"not PyTorch's, so how much it has is not known\n"},
		{"memory that the allocator holds and cannot use", `
import torch, vramlog
kept = torch.zeros(3 << 20, "cuda")
@vramlog.retry_on_oom
def work(batch_size):
    try:
        torch.zeros(4 << 20, "cuda")  # reserved stays at 7 MiB
    finally:
        torch.zeros(64 << 20, "cuda")
try: work(1)
except torch.cuda.OutOfMemoryError: pass
`, "ADVICE: expandable segments: 4.00 MiB is reserved and not allocated; " +
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True makes most of it usable\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPython(t, func(t *testing.T, p python) {
				stdout, stderr := p.output(t, "standin", c.program, "STANDIN_TOTAL=33554432")
				if !strings.Contains(stdout, c.want) {
					t.Errorf("want %q\nprinted:\n%s%s", c.want, stdout, stderr)
				}
			})
		})
	}
}

// TestPythonAlone: whoever copies only vramlog.py learns which files are missing.
func TestPythonAlone(t *testing.T) {
	eachPython(t, func(t *testing.T, p python) {
		cmd := p.command(t, "standin", `
import vramlog
for name in "clear_gpu_memory", "listen", "no_such_name":
    try:
        getattr(vramlog, name)
    except AttributeError as e:
        print(e)
`, "VRAMSOAK_LISTEN=sockets")
		alone := t.TempDir()
		text, err := os.ReadFile("vramlog.py")
		if err == nil {
			err = os.WriteFile(filepath.Join(alone, "vramlog.py"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, "PYTHONPATH="+alone)
		out, err := cmd.CombinedOutput()
		const want = "vramlog.clear_gpu_memory needs vramfree.py: copy " +
			"vramlog.py, vramfree.py and vramlook.py into one folder\n" +
			"vramlog.listen needs vramlook.py: copy " +
			"vramlog.py, vramfree.py and vramlook.py into one folder\n" +
			"module 'vramlog' has no attribute 'no_such_name'\n"
		if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
