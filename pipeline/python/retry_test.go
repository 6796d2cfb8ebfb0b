package python

import (
	"strings"
	"testing"
)

// TestPythonRetryLosesNothing: a batch is split only if each item keeps its partners, and what
// cannot be split fails with the function's own error.
func TestPythonRetryLosesNothing(t *testing.T) {
	const begin = `
import collections, functools, torch, vramlog
retry, OutOfMemory = vramlog.retry_on_oom, torch.cuda.OutOfMemoryError
def use(n): torch.zeros(100 * n, "cuda")  # the device has memory for 4
def expect(kind, work):
    try: work()
    except kind as e: return str(e)
    assert False, "expected " + kind.__name__
`
	for _, c := range []struct{ name, program, want string }{
		{"batches that belong together are sliced alike", `
@retry(batch=("clips", "labels", "weights"))
def work(clips, labels, weights=None):
    use(len(clips))
    return list(zip(clips, labels))
assert work(range(10), "a b c d e f g h i j".split()) == list(zip(range(10), "abcdefghij"))
assert "clips=2, labels=3" in expect(ValueError, lambda: work([1, 2], [1, 2, 3]))
assert "labels=None" in expect(ValueError, lambda: work([1, 2], 3))
`, "with len(clips)=2, before 5"},
		{"a partner that is not named stops the split", `
@retry(batch="clips")
def work(clips, *, labels, names=list("abcdefgh"), scale=(1, 2)):
    use(len(clips))
    return list(zip(clips, labels))
expect(OutOfMemory, lambda: work(range(8), labels=list("abcdefgh")))
`, `ADVICE: batch: len(clips)=8 did not fit; it is not split, because labels has the same ` +
			`length: name what belongs together, batch=("clips", "labels")`},
		{"a default value is no partner", `
@retry(batch="clips")
def work(clips, names=list("abcdefgh")):
    use(len(clips))
    return list(clips)
assert work(range(8)) == list(range(8))
`, "with len(clips)=4, before 8"},
		{"a batch without slices", `
@retry(batch="clips")
def work(clips): use(len(clips))
expect(OutOfMemory, lambda: work(collections.deque(range(8))))
`, "ADVICE: batch: len(clips)=8 did not fit; clips cannot be sliced: "},
		{"a mapping has keys and no items", `
@retry(batch="clips")
def work(clips): use(8)
expect(OutOfMemory, lambda: work(collections.UserDict(a=[1, 2], b=[3, 4])))
`, "ADVICE: batch: clips has no number or slices to halve"},
		{"results with a type of their own", `
@retry(batch="clips")
def work(clips):
    use(len(clips))
    return collections.defaultdict(list, a=list(clips))
assert "results of type defaultdict cannot be joined; pass join=" in expect(
    TypeError, lambda: work(range(8)))
`, "with len(clips)=4, before 8"},
		{"partial functions and objects that can be called", `
def work(clips, scale):
    use(len(clips))
    return [scale * c for c in clips]
class Work:
    def __call__(self, clips): return work(clips, 2)
for function in functools.partial(work, scale=2), Work():
    assert retry(batch="clips")(function)([1, 2, 3, 4, 5]) == [2, 4, 6, 8, 10]
`, "smaller batch: partial with len(clips)=2, before 5"},
		{"errors that only have the words", `
def work(n):
    calls.append(n)
    raise kind("[Errno 2] No such file: 'out of memory.wav'")
for kind in ValueError, KeyError, FileNotFoundError, TypeError, NotImplementedError:
    calls = []
    expect(kind, lambda: retry(batch="n")(work)(8))
    assert calls == [8], (kind, calls)
try:
    with vramlog.file("a.wav", readings=False):
        open("/nowhere/out of memory.wav")
except FileNotFoundError: pass
`, "status=failed"},
		{"nothing is collected while a graph is captured", `
import weakref
class Loop: pass
loop = Loop(); loop.itself = loop; gone = weakref.ref(loop); del loop
torch.zeros(100, "cuda")
torch.cuda.is_current_stream_capturing = lambda: True
assert vramlog.clear_gpu_memory() == {} and torch.cuda.acted == [] and gone() is not None
torch.cuda.is_current_stream_capturing = lambda: False
assert vramlog.clear_gpu_memory() and gone() is None
`, "Cleared GPU cache on request: device 0 returned 100 B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPython(t, func(t *testing.T, p python) {
				stdout, stderr := p.output(t, "standin", begin+c.program, "STANDIN_TOTAL=400")
				if !strings.Contains(stdout, c.want) {
					t.Errorf("want %q\nprinted:\n%s%s", c.want, stdout, stderr)
				}
			})
		})
	}
}
