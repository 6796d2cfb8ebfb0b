package output

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// A tracked is a stream to which a test passes the output of a process.
type tracked struct {
	stream *Stream
	batch  *queue.Batch
	log    *journal.Journal
}

func newTracked(t testing.TB, files []queue.Input, opts Options) *tracked {
	t.Helper()
	log, err := journal.Open(filepath.Join(t.TempDir(), "soak.log"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts.Journal, opts.Batch = log, queue.NewBatch(files)
	opts.Logger = slog.New(slog.DiscardHandler)
	p := &tracked{NewStream(opts), opts.Batch, log}
	p.stream.NextProcess(p.batch.Waiting(0), time.Now())
	return p
}

// finish passes text to the stream as the output of a process, lets the process end as end says,
// and returns the log.
func (p *tracked) finish(t testing.TB, text string, end supervise.End) []byte {
	t.Helper()
	for line := range strings.Lines(text) {
		p.stream.Take([]byte(strings.TrimLeft(line, "\t")))
	}
	p.stream.Finish(end, time.Minute, time.Now())
	if err := p.log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.log.Path())
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestFilesOfAPipeline(t *testing.T) {
	t.Parallel()
	fed := func(paths string) (files []queue.Input) {
		for p := range strings.FieldsSeq(paths) {
			files = append(files, queue.Input{Path: p})
		}
		return files
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const a, b = "[GPU Memory] A: Allocated: 1.00GB\n", "[GPU Memory] B: Allocated: 1.00GB\n"
	start := func(p string) string { return "[pipeline] file-start path=" + p + "\n" }
	end := func(p string) string { return "[pipeline] file-end path=" + p + " status=ok\n" }
	both := func(p string) string { return start(p) + a + b + end(p) }
	tests := []struct {
		name, files, text string
		own               bool // the pipeline knows its files by itself
		end               supervise.End
		want              string
	}{
		{name: "out of order", files: "x y z", text: both("z") + both("x") + both("y"), want: `
			start 3 z
			end 3 z ok
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{name: "the same path twice", files: "x x", text: both("x") + both("x"), want: `
			start 1 x
			end 1 x ok
			start 2 x
			end 2 x ok`},
		{
			name: "two rounds", files: "x y x y", text: both("x") + both("y") + both("x") +
				both("y"),
			want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok
			start 3 x
			end 3 x ok
			start 4 y
			end 4 y ok`,
		},
		{name: "two rounds, each in another order", files: "x y y x", text: both("x") + both("y") +
			both("y") + both("x"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok
			start 3 y
			end 3 y ok
			start 4 x
			end 4 x ok`},
		{name: "two rounds, sorted by the pipeline", files: "x y x y", text: both("x") + both("x") +
			both("y") + both("y"), want: `
			start 1 x
			end 1 x ok
			start 3 x
			end 3 x ok
			start 2 y
			end 2 y ok
			start 4 y
			end 4 y ok`},
		{name: "two rounds, after a checkpoint before the first name", files: "x y x y", text: b +
			both("x") + both("y") + both("x"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok
			start 3 x
			end 3 x ok`},
		{name: "two rounds, only checkpoints", files: "x y x y", text: a + b + a + b + a + b + a +
			b, want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok
			start 3 x
			end 3 x ok
			start 4 y
			end 4 y ok`},
		{name: "two rounds, only ends", files: "x x", text: end("x") + end("x"), want: `
			start 1 x
			end 1 x ok
			start 2 x
			end 2 x ok`},
		{name: "two rounds, an end once more", files: "x x", text: both("x") + end("x") +
			both("x") + end("x"), want: `
			start 1 x
			end 1 x ok
			start 2 x
			end 2 x ok`},
		{
			name: "two rounds, file-end has another spelling of the path", files: "p/x q/y p/x q/y",
			text: start("x") + end("./p/x") +
				start("y") + end(here+"/q/y") + start("x") + end("./p/x"), want: `
			start 1 p/x
			end 1 p/x ok
			start 2 q/y
			end 2 q/y ok
			start 3 p/x
			end 3 p/x ok`,
		},
		{
			name: "two rounds, base names that two files share", files: "p/x q/x p/x q/x",
			text: both("p/x") + both("x"), want: `
			start 1 p/x
			end 1 p/x ok
			start 0 x
			end 0 x ok`,
		},
		{name: "two rounds and then one again that failed", files: "x y x y", text: start("x") +
			"[pipeline] file-end path=x status=failed\n" +
			both("y") + both("x") + both("y") + both("x"), want: `
			start 1 x
			end 1 x failed
			start 2 y
			end 2 y ok
			start 3 x
			end 3 x ok
			start 4 y
			end 4 y ok
			start 1 x
			end 1 x ok`},
		{name: "names of its own after a checkpoint", files: "p/1.wav p/2.wav", text: b +
			both("one") + both("two"), want: `
			start 1 p/1.wav
			end 1 p/1.wav ok
			start 2 p/2.wav
			end 2 p/2.wav ok`},
		{name: "another way to write the path", files: "audio/x audio/y", text: both("./audio/x") +
			both(here+"/audio/y"), want: `
			start 1 audio/x
			end 1 audio/x ok
			start 2 audio/y
			end 2 audio/y ok`},
		{name: "base names", files: "p/x q/y", text: both("x") + both("y"), want: `
			start 1 p/x
			end 1 p/x ok
			start 2 q/y
			end 2 q/y ok`},
		{
			name:  "base names that two files share, after a path that was fed",
			files: "p/x q/x r/y",
			text:  both("r/y") + both("x"), want: `
			start 3 r/y
			end 3 r/y ok
			start 0 x
			end 0 x ok`,
		},
		{
			name: "the pipeline's own names", files: "p/1.wav p/2.wav", text: both("one") + both("two"),
			want: `
			start 1 p/1.wav
			end 1 p/1.wav ok
			start 2 p/2.wav
			end 2 p/2.wav ok`,
		},
		{name: "more names of its own than files", files: "p/1.wav", text: both("one") +
			both("two"), want: `
			start 1 p/1.wav
			end 1 p/1.wav ok
			start 0 two
			end 0 two ok`},
		{name: "a file that was not fed", files: "x y", text: both("x") + both("warm-up") +
			both("y"), want: `
			start 1 x
			end 1 x ok
			start 0 warm-up
			end 0 warm-up ok
			start 2 y
			end 2 y ok`},
		{name: "a file again", files: "x y", text: both("x") + both("y") + start("x") +
			"[pipeline] file-end path=x status=failed error=again\n", want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok
			start 1 x
			end 1 x failed again`},
		{name: "no end, where others have one", files: "x y z", text: both("x") + start("y") +
			both("z"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y failed the pipeline began the next file without a file-end line for this one
			start 3 z
			end 3 z ok`},
		{
			name: "an end of another file", files: "x y", text: start("x") + end("y") + end("x"),
			want: `
			start 1 x
			end 1 x ok`,
		},
		{name: "an end once more", files: "x y", text: both("x") + end("x") + both("y"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{name: "an end that cannot be read", files: "x y", text: start("x") +
			"[pipeline] file-end path=x status=great\n" + start("y"), want: `
			start 1 x
			bad line 3
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{
			name: "checkpoints that go on recurring", files: "x y", text: a + b + a + b + a + b,
			want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok`,
		},
		{
			name: "checkpoints of two devices", files: "x y",
			text: "[GPU Memory] A: Allocated: 1.00GB | allocated=1073741824 device=0\n" +
				"[GPU Memory] A: Allocated: 1.00GB | allocated=1073741824 device=1\n", want: `
			start 1 x
			end 1 x ok`,
		},
		{name: "a checkpoint before the first name", files: "x y", text: b + both("x") + b +
			both("y"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{name: "a checkpoint before the first name, of another file", files: "x y", text: b +
			both("y") + both("x"), want: `
			start 1 x
			start 2 y
			end 2 y ok
			start 1 x
			end 1 x ok`},
		{name: "a checkpoint before the first name, its own files", own: true, text: b + both("x") +
			both("y"), want: `
			start 1
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{name: "its own files twice", own: true, text: both("x") + both("x"), want: `
			start 1 x
			end 1 x ok
			start 2 x
			end 2 x ok`},
		{name: "its own files, only ends", own: true, text: end("x") + end("y"), want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y ok`},
		{name: "the harness's words from a pipeline", files: "x y", text: start("x") +
			"[vramsoak] run-end files=1 seconds=1.000 reason=done\n" + end("x"), want: `
			start 1 x
			end 1 x ok`},
		{name: "out of memory in another file", files: "x y", text: start("x") +
			"CUDA out of memory. Tried to allocate 2.00 GiB\n" +
			end("x") + start("y") + "[pipeline] file-end path=y status=failed\n", want: `
			start 1 x
			end 1 x ok
			start 2 y
			end 2 y failed`},
		{
			name: "out of memory, then a crash", files: "x", text: start("x") +
				"CUDA out of memory. Tried to allocate 2.00 GiB\n",
			end: supervise.End{Code: -1, Signal: "SIGABRT"}, want: `
			start 1 x
			end 1 x crashed the process was ended by SIGABRT`,
		},
		{
			name: "died between files", files: "x y", text: both("x"),
			end: supervise.End{Code: -1, Signal: "SIGSEGV"}, want: `
			start 1 x
			end 1 x ok`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newTracked(t, fed(test.files), Options{OwnFiles: test.own})
			log := p.finish(t, test.text, test.end)
			soaklog.Expect(t, log, test.want)
		})
	}
}

// If each process works on one file, the exit code of the process and the pipeline's file-end line
// may disagree. The worse status wins.
func TestEndOfAProcessAFile(t *testing.T) {
	t.Parallel()
	const said = "[pipeline] file-end path=x status="
	tests := []struct {
		name, text string
		end        supervise.End
		want       string
	}{
		{"fine", "", supervise.End{}, "ok"},
		{"says ok", said + "ok\n", supervise.End{}, "ok"},
		{"says oom", said + "oom\n", supervise.End{}, "oom"},
		{
			"says oom and exits so", said + "oom error=\"no room\"\n",
			supervise.End{Code: 1},
			"oom no room",
		},
		{
			"says ok and exits otherwise", said + "ok\n",
			supervise.End{Code: 2, Cause: "bye"},
			"failed the process exited with code 2: bye",
		},
		{
			"says ok and crashes", said + "ok\n",
			supervise.End{Code: -1, Signal: "SIGSEGV"},
			"crashed the process was ended by SIGSEGV",
		},
		{"says ok and is interrupted", said + "ok\n", supervise.End{
			Code: -1, Signal: "SIGTERM",
			Interrupted: true,
		}, "ok"},
		{
			"says ok too late", said + "ok\n",
			supervise.End{Timeout: true},
			"timeout took longer than 1m0s",
		},
		{"exits 0 when interrupted", "", supervise.End{Interrupted: true}, "failed interrupted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newTracked(t, []queue.Input{{Path: "x"}}, Options{FilePerProcess: true})
			log := p.finish(t, test.text, test.end)
			soaklog.Expect(t, log, "start 1 x\nend 1 x "+test.want)
		})
	}
}

// A file for which the pipeline printed no file-end line ran out of memory if an allocation failed
// and neither a checkpoint nor a fallback followed.
func TestUnsaidEndAfterAFailure(t *testing.T) {
	t.Parallel()
	const (
		failure  = "RuntimeError: CUDA error: out of memory (in Whisper)\n"
		named    = "CUDA OOM during voice enrollment, using fallback fast-path\n"
		fallback = "Falling back to sequential extraction (slow)\n"
		work     = "[GPU Memory] After Work: Allocated: 1.00GB\n"
		cleanUp  = "[GPU Memory] After Work Cleanup: Allocated: 1.00GB\n"
		batch    = "❌ Batch processing failed: CUDA error: out of memory\n"
		fastPath = "🚀 FALLBACK FAST-PATH: Always assuming one speaker\n"
	)
	for text, want := range map[string]string{
		failure: "oom", failure + work: "ok", failure + cleanUp: "oom", failure + fallback: "ok",
		failure + fallback + cleanUp: "ok",
		named:                        "ok", named + failure: "oom", failure + named: "oom",
		failure + named +
			fallback: "oom",
		failure + failure + fallback: "oom", failure +
			"GPU loading failed, falling back to CPU: no kernel image\n": "oom",
		failure + "[GPU Memory] After Work (failed): Allocated: 1.00GB\n": "oom",
		failure + failure + work: "ok",
		failure + fastPath:       "ok",
		batch:                    "oom", batch + named: "ok", batch + named + fastPath: "ok",
		batch + batch + named: "oom", failure + batch + named: "oom", batch + failure + named: "oom",
	} {
		p := newTracked(t, []queue.Input{{Path: "x"}}, Options{})
		log := p.finish(t, "[pipeline] file-start path=x\n"+text, supervise.End{})
		if !strings.Contains(string(log), " path=x status="+want+" ") {
			t.Errorf("expected %s in\n%s", want, log)
		}
	}
}

// The audio length of a file comes from the batch or, if the batch has none, from the pipeline.
func TestAudioSeconds(t *testing.T) {
	t.Parallel()
	p := newTracked(t, []queue.Input{{Path: "x", AudioSeconds: 12.5}, {Path: "y"}}, Options{})
	log := p.finish(t,
		"[pipeline] file-start path=x audio_seconds=99.000\n"+
			"[pipeline] file-start path=y audio_seconds=3.250\n", supervise.End{})
	for _, want := range []string{
		"index=1 path=x audio_seconds=12.500\n",
		"index=2 path=y audio_seconds=3.250\n",
	} {
		if !strings.Contains(string(log), want) {
			t.Errorf("expected %q in\n%s", want, log)
		}
	}
	if b := p.batch; b.Counts()[record.StatusOK] != 2 || b.Ended() != 2 || b.Failed() != 0 ||
		b.Left() != 0 {
		t.Errorf("batch %+v", p.batch)
	}
}
