package output

import (
	"strings"
	"testing"
)

// TestCause finds the cause in the last lines that real programs printed.
func TestCause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"Python", `Traceback (most recent call last):
  File "/app/transcribe.py", line 1, in <module>
    import whisper
ModuleNotFoundError: No module named 'whisper'`, "ModuleNotFoundError: No module named 'whisper'"},
		{"chained", `Traceback (most recent call last):
  File "a.py", line 2, in <module>
    int("x")
ValueError: invalid literal for int() with base 10: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 4, in <module>
    raise Unreadable("0012.wav")
audio.Unreadable: 0012.wav
closing`, "audio.Unreadable: 0012.wav"},
		{
			"a message of several lines", `Traceback (most recent call last):
  File "a.py", line 4, in <module>
RuntimeError: CUDA error: device-side assert triggered
CUDA kernel errors might be asynchronously reported at some other API call.
Compile with TORCH_USE_CUDA_DSA to enable device-side assertions.`,
			"RuntimeError: CUDA error: device-side assert triggered",
		},
		{
			"behind a logger's prefix",
			`2026-11-20 02:00:00,123 - ERROR - root - Traceback (most recent call last):
  File "a.py", line 4, in <module>
KeyError: 'segments'
2026-11-20 02:00:00,130 - INFO - root - bye`, "KeyError: 'segments'",
		},
		{
			"a prefix on each line", `
[rank0]: Traceback (most recent call last):
[rank0]:   File "a.py", line 4, in <module>
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.`,
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
		},
		{"the traceback's head is lost", `    return torch.empty(n)
2026-11-20 02:00:00 ERROR app: ValueError: bad header`, "ValueError: bad header"},
		{"torchrun reports its child", `[rank1]: Traceback (most recent call last):
[rank1]:   File "a.py", line 4, in <module>
[rank1]: ValueError: bad header
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
a.py FAILED`, "ValueError: bad header"},
		{"ignored while it ends", `Traceback (most recent call last):
  File "a.py", line 4, in <module>
ValueError: bad header
Exception ignored in: <function Model.__del__ at 0x7f>
Traceback (most recent call last):
  File "m.py", line 9, in __del__
ImportError: sys.meta_path is None, Python is likely shutting down`, "ValueError: bad header"},
		{"a group", `  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 4, in <module>
  | ExceptionGroup: two files (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: bad header
    +------------------------------------`, "ValueError: bad header"},
		{"syntax error", `  File "a.py", line 1
    foo(
       ^
SyntaxError: '(' was never closed`, "SyntaxError: '(' was never closed"},
		{"faulthandler", `Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "a.py", line 3 in <module>`, "Fatal Python error: Segmentation fault"},
		{"Go", `panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.main()
	/app/main.go:8 +0x1d
exit status 2`, "panic: runtime error: index out of range [5] with length 3"},
		{"Go, the runtime's", `fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:`, "fatal error: all goroutines are asleep - deadlock!"},
		{
			"Rust", `thread 'main' panicked at src/main.rs:4:5:
index out of bounds: the len is 3 but the index is 5
note: run with ` + "`RUST_BACKTRACE=1`" + ` environment variable to display a backtrace`,
			"thread 'main' panicked at src/main.rs:4:5: " +
				"index out of bounds: the len is 3 but the index is 5",
		},
		{
			"Rust, before 1.73", "thread 'main' panicked at 'no model', src/main.rs:4:5",
			"thread 'main' panicked at 'no model', src/main.rs:4:5",
		},
		{
			"C++", `terminate called after throwing an instance of 'std::runtime_error'
  what():  cannot load the model
Aborted (core dumped)`,
			"terminate called after throwing an instance of 'std::runtime_error': cannot load the model",
		},
		{
			"libc++",
			"libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc",
			"libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc",
		},
		{
			"assertion", "whisper: ggml.c:120: ggml_new: Assertion `ctx != NULL' failed.",
			"whisper: ggml.c:120: ggml_new: Assertion `ctx != NULL' failed.",
		},
		{"glibc", "free(): invalid pointer\nAborted", "free(): invalid pointer"},
		{"Java", `Exception in thread "main" java.lang.IllegalStateException: no model
	at Main.main(Main.java:3)`, "java.lang.IllegalStateException: no model"},
		{"Node", `/app/a.js:3
throw new TypeError("x is not a function")
^

TypeError: x is not a function
    at Object.<anonymous> (/app/a.js:3:7)`, "TypeError: x is not a function"},
		{
			"a shell's", "sh: line 1:  4711 Segmentation fault      (core dumped) ./transcribe",
			"Segmentation fault      (core dumped) ./transcribe",
		},
		{
			"a program's own", "error: failed to open 'model.bin'\nremoving temporary files\n",
			"error: failed to open 'model.bin'",
		},
		{"anything", "loading\nmodel.bin: no such file\n", "model.bin: no such file"},
		{
			"advice below it",
			"sleep: invalid time interval 'a.wav'\nTry 'sleep --help' for more information.",
			"sleep: invalid time interval 'a.wav'",
		},
		{"nothing", "", ""},
	} {
		lines, _ := splitLines(c.text)
		if got := cause(lines, true); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	said := []string{
		"no disk", "[GPU Memory] Before Work: Allocated: 1.00GB",
		"[vramsoak] run-end reason=done", "[pipeline] file-end path=a",
	}
	if got := cause(said, true); got != "no disk" {
		t.Errorf("above the lines of protocols: %q", got)
	}
	if got := cause(said[1:], true); got != "" {
		t.Errorf("of protocols alone: %q", got)
	}
	if got := cause([]string{"loading"}, false); got != "" {
		t.Errorf("without a fallback: got %q", got)
	}
}

// TestTailCause: lines that were printed during a file do not explain the end of a process after
// that file. The first line of a stack dump is kept, however long the dump is.
func TestTailCause(t *testing.T) {
	t.Parallel()
	var tl Tail
	tl.begin()
	tl.add([]byte("Traceback (most recent call last):\nValueError: handled\n"))
	if got := tl.Cause(false, true); got != "ValueError: handled" {
		t.Errorf("in the file: %q", got)
	}
	tl.end()
	if got := tl.Cause(true, true); got != "" {
		t.Errorf("after the file: %q", got)
	}
	tl.add([]byte("panic: no device\n\ngoroutine 1 [running]:\n"))
	for range 1000 {
		tl.add([]byte("main.work(0x1)\n\t/app/main.go:12 +0x1d\n"))
	}
	if got := tl.Cause(true, true); got != "panic: no device" {
		t.Errorf("before a long dump: %q", got)
	}
	tl.begin()
	tl.add([]byte(strings.Repeat("x", 3*tailMax) + "\nlast\n"))
	if got := tl.Cause(false, true); got != "last" {
		t.Errorf("after a long line: %q", got)
	}
}
