package source

import (
	"strings"
	"testing"
)

// TestUnwrap: of each line, the program's text and the name of the process are found. The marks ¦
// in the lines stand where the program's text begins.
func TestUnwrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, writer string }{
		{"2026-11-20T02:00:03.123456789Z ¦hello", ""},
		{"2026-11-20T02:00:03+01:00 ¦hello", ""},
		{"2026-11-20T02:00:03.123456789Z stderr F ¦hello", ""},
		{"2026-11-20T02:00:03.123456Z 00O ¦hello", ""},
		{"2026-11-20T02:00:03.123456Z 01E+¦hello", ""},
		{"[2026-11-20T02:00:03.123Z] ¦hello", ""},
		{"\ufeff2026-11-20T02:00:03.1234567Z ¦hello", ""},
		{"build (3.12)\tRun tests\t2026-11-20T02:00:03.1234567Z ¦hello", "build (3.12)"},
		{"\x1b_bk;t=1763604003123\x07[rank1]: ¦hello", "rank 1"},
		{"[pod/asr-3/main] ¦hello", "pod/asr-3/main"},
		{"[pod/asr-3/main] 2026-11-20T02:00:03.123Z ¦hello", "pod/asr-3/main"},
		{"[pod/asr-3/main] 2026-11-20T02:00:03.123Z [rank7]: ¦hello", "pod/asr-3/main rank 7"},
		{"worker-1  | ¦hello", "worker-1"},
		{"worker-1  | 2026-11-20T02:00:03.123Z ¦hello", "worker-1"},
		{"asr       | ¦hello", "asr"},
		{"\x1b[36mworker-1  |\x1b[0m ¦hello", "worker-1"},
		{"\x1b[36m(train pid=7)\x1b[0m ¦hello", "train pid=7"},
		{"asr.1.x2k4@gpu1    | ¦hello", "asr.1.x2k4@gpu1"},
		{"02:00:03 asr.1   | ¦hello", "asr.1"},
		{"asr-6d5f7c9b8-xk2lp main ¦hello", "asr-6d5f7c9b8-xk2lp main"},
		{"[rank12]: ¦hello", "rank 12"},
		{"[default0]:¦hello", "rank 0"},
		{"[trainer2]:¦hello", "rank 2"},
		{"1: ¦hello", "rank 1"},
		{" 7: ¦hello", "rank 7"},
		{"12: ¦  indented", "rank 12"},
		{"[1,3]<stdout>:¦hello", "rank 3"},
		{"[1,3]<stderr>: ¦hello", "rank 3"},
		{"[prterun-gpu1-17@1,2]<stdout>: ¦hello", "rank 2"},
		{"[1,mpirank:4,algo-2]<stdout>:¦hello", "rank 4"},
		{"[5]<stderr>:¦hello", "rank 5"},
		{"Fri Nov 20 02:00:03 2026[1,3]<stdout>:¦hello", "rank 3"},
		{"(Worker_TP1 pid=7) ¦hello", "rank 1"},
		{"(Worker_TP1_EP1 pid=7) ¦hello", "rank 1"},
		{"(Worker_DP1_TP0 pid=7) ¦hello", "DP1 TP0"},
		{"(VllmWorker rank=3 pid=7) ¦hello", "rank 3"},
		{"(EngineCore_DP2 pid=7) ¦hello", "rank 2"},
		{"(EngineCore pid=7) ¦hello", "EngineCore pid=7"},
		{"(pid=7) ¦hello", "pid=7"},
		{"(train pid=7, ip=10.0.0.3) ¦hello", "train pid=7 ip=10.0.0.3"},
		{"(Worker_TP1 pid=7) ¦INFO 11-20 02:00:03 [x.py:7] hello", "rank 1"},
		{"[2026-11-20 02:00:03 TP3] ¦hello", "rank 3"},
		{"[2026-11-20 02:00:03 DP1 TP3 EP3] ¦hello", "DP1 TP3"},
		{"Nov 20 02:00:03 ¦hello", ""},
		{"Nov  2 02:00:03 gpu1 asr[4711]: ¦hello", "gpu1 asr[4711]"},
		{"2026-11-20T02:00:03+0100 gpu1 asr[4711]: ¦hello", "gpu1 asr[4711]"},
		{"2026-11-20T02:00:03.123+00:00 app[web.1]: ¦hello", "app[web.1]"},
		{"<13>Nov 20 02:00:03 gpu1 asr[4711]: ¦hello", "gpu1 asr[4711]"},
		{"<13>1 2026-11-20T02:00:03.1Z gpu1 asr 4711 - - ¦hello", "gpu1 asr 4711"},
		{"Nov 20 02:00:03 n1 run.sh: ¦hello", "n1 run.sh"},
		{"Nov 20 02:00:03.123 n1 python3.11: ¦hello", "n1 python3.11"},
		{"Nov 20 02:00:03 n1 /opt/asr/run: ¦hello", "n1 /opt/asr/run"},
		{"Nov 20 02:00:03 n1 kernel: ¦hello", ""},
		{"<13>Nov 20 02:00:03 n1 asr: ¦hello", "n1 asr"},
		{"Nov 20 02:00:03 ¦Peak memory: 3 GB", ""},
		{"Nov 20 02:00:03 ¦large-v3 allocated: 3 GB", ""},
		{"Nov 20 02:00:03 ¦ERROR run.py: hello", ""},
		{"Nov 20 02:00:03 ¦gpu_memory INFO: hello", ""},
		{"Nov 20 02:00:03 ¦gpu_memory SUCCESS: hello", ""},
		{"2026-11-20T02:00:03Z ¦gpu_memory INFO: hello", ""},
		{"2026-11-20T02:00:03Z ¦n1 run.sh: hello", ""},
		{"node3: ¦hello", "node3"},
		{"worker-1  | ¦2026-11-20 02:00:03.123 | INFO     | asr:run:41 - hello", "worker-1"},
		{"asr       | ¦2026-11-20 02:00:03.123 | INFO     | asr:run:41 - hello", "asr"},
		{"asr       | ¦INFO | asr.run | hello", "asr"},
		{"worker-1  | ¦step 3 | 97 MiB", "worker-1"},
		{"asr.1.x2k4@gpu1    | ¦step 3 | 97 MiB", "asr.1.x2k4@gpu1"},
		{"asr       | ¦step 3 | loss 0.1", "asr"},
		{"asr       | ¦ 40%|████      | 4/10 [00:03<00:05,  1.10it/s]", "asr"},
		{"asr       | ¦| N/A   30C    P0    61W / 300W |   1234MiB / 24576MiB |", "asr"},
		{`{"log":"hello\n","stream":"stderr","time":"2026-11-20T02:00:03.1Z"}`, ""},
		{
			`{"log":"[rank1]: hello\n","stream":"stderr","time":"2026-11-20T02:00:03.1Z"}`,
			"rank 1",
		},
		{`{"stream":"stderr","log":"hello\n","docker":{"container_id":"7"}}`, ""},
		{`{"log": "hello\n", "stream": "stderr", "time": "2026-11-20T02:00:03.1Z"}`, ""},
		{`{"stream": "stderr", "log": "hello\n"}`, ""},
		{`{"__REALTIME_TIMESTAMP" : "1763604003123456", "MESSAGE" : "hello"}`, ""},
		{`{"__REALTIME_TIMESTAMP":"1763604003123456","_PID":"7","MESSAGE":"hello"}`, ""},
		{
			`[pod/asr-3/main] {"log":"hello\n","stream":"stderr","time":"2026-11-20T02:00:03.1Z"}`,
			"pod/asr-3/main",
		},
		{
			`{"log":"{\"log\":\"hello\\n\",\"stream\":\"stderr\"}\n","time":"2026-11-20T02:00:03.1Z"}`,
			"",
		},
		{
			`{"log":"\u001b[36mworker-1  |\u001b[0m hello\n","time":"2026-11-20T02:00:03.1Z"}`,
			"worker-1",
		},
		{`1: (train pid=7) 2026-11-20T02:00:03Z ¦hello`, "train pid=7 rank 1"},
	} {
		line, writer := c.line, c.writer
		marked := line
		line = strings.Replace(line, "¦", "", 1)
		var u Unwrapper
		w, ok := u.Unwrap([]byte(line))
		want := "hello"
		if _, after, has := strings.Cut(marked, "¦"); has {
			want = after
		}
		if !ok || string(w.Text) != want || string(w.Writer) != writer {
			t.Errorf("%q: expected %q of %q, found %v %q of %q", line, want, writer, ok, w.Text, w.Writer)
		}
	}
}

// TestJSON: a log driver's JSON gives the stream. Only Docker's own form says that the next line
// goes on with this one.
func TestJSON(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", dockerLine)
	for _, c := range []struct {
		line    string
		partial bool
		stream  int
	}{
		{`{"log":"` + long + `","stream":"stdout","time":"2026-11-20T02:00:03.1Z"}`, true, 1},
		{`{"log":"` + long + `\n","stream":"stderr","time":"2026-11-20T02:00:03.1Z"}`, false, 2},
		{`{"log": "` + long + `", "stream": "stderr", "time": "2026-11-20T02:00:03.1Z"}`, true, 2},
		{`{"log":"x","time":"2026-11-20T02:00:03.1Z"}`, false, 0},
		{`{"log":"\"stream\":\"stdout\"\n","stream":"stderr","time":"x"}`, false, 2},
		{`{"stream":"stdout","log":"` + long + `","docker":{"container_id":"7"}}`, false, 1},
		{`{"stream": "stdout", "log": "` + long + `"}`, false, 1},
		{`{"__REALTIME_TIMESTAMP":"1763604003123456","MESSAGE":"` + long + `"}`, false, 0},
	} {
		var u Unwrapper
		w, ok := u.Unwrap([]byte(c.line))
		if !ok || w.Partial != c.partial || w.Stream != c.stream {
			t.Errorf("%.40s...%s: got %v, partial %v, stream %d", c.line,
				c.line[max(0, len(c.line)-60):], ok, w.Partial, w.Stream)
		}
	}
}

// TestNotWrapped: lines of programs that resemble wrapped lines stay whole.
func TestNotWrapped(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"",
		"hello",
		"[GPU Memory] After A: Allocated: 0.18GB",
		"2026-11-20 02:00:03,123 - asr - INFO - hello",
		"2026/11/20 02:00:03.123, 0, 7 MiB",
		"[2026-11-20 02:00:03,123] [INFO] hello",
		"[2026-11-20 02:00:03] hello",
		"12:00:00 | hello",
		"02:00:03,123 hello",
		"INFO:root:hello",
		"INFO: hello",
		"info: hello 1",
		"step 3 | loss 0.1",
		"epoch1 | loss 0.1",
		"success1 | loss 0.1",
		"resnet50  | 97 MiB | x",
		"resnet50  | Conv2d | 97 MiB",
		"model  | 97 MiB | x",
		"run-20240101-abcde training done",
		"run-2024010112-x2k4p training done",
		"[gpu1]: GPU memory allocated: 2.25 GB",
		"gpu0  | 7 MiB",
		"Epoch    GPU_mem   box_loss",
		"| GPU  Name        Persistence-M|",
		"loss   |███| 3/7",
		"[0] NVIDIA GeForce RTX 3090 | 42'C,  0 % |  1234 / 24576 MB |",
		"[epoch1]: hello",
		"[1/50] hello",
		"      1/100      2.13G      1.2",
		"stage1: allocated 3 GB",
		"cuda0: 1.2 GB",
		"(base) user@gpu1:~$ ls",
		"(see pid) hello",
		"3:14 hello",
		"123456: hello",
		"Nov 20 2026 was a day",
		"Fri Nov 20 02:00:03 2026",
		"<html>",
		"{\"level\": \"info\", \"message\": \"hello\"}",
		"{\"catalog\":\"x\", \"log\": 3}",
		"a-b-c d hello",
		"whisper-large-v3 on cuda hello",
	} {
		var u Unwrapper
		if w, ok := u.Unwrap([]byte(line)); ok {
			t.Errorf("%q: expected no wrapper, found %q of %q", line, w.Text, w.Writer)
		}
	}
}

// FuzzUnwrap: what is left of a line is part of it or of its JSON, and never longer.
func FuzzUnwrap(f *testing.F) {
	f.Add("[pod/asr-3/main] 2026-11-20T02:00:03.123Z [rank7]: hello")
	f.Add(`1: {"log":"\u001b[36mworker-1  |\u001b[0m hello\n","time":"2026-11-20T02:00:03.1Z"}`)
	f.Fuzz(func(t *testing.T, line string) {
		var u Unwrapper
		w, ok := u.Unwrap([]byte(line))
		if !ok {
			return
		}
		if w.Head > len(line) || len(w.Writer) > maxWrappers*(maxWriter+1)+16 {
			t.Errorf("%q: the head has %d bytes, the writer is %q", line, w.Head, w.Writer)
		}
		if w.Kind&wrapJSON == 0 && !strings.HasSuffix(line, string(w.Text)) {
			t.Errorf("%q: the text %q is not the end of the line", line, w.Text)
		}
	})
}
