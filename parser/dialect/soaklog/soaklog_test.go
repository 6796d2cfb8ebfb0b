package soaklog_test

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/scan"
)

// TestSoakLog: a pipeline cannot end its file, its run or its process in the log by printing a
// line that looks like the harness's. A line that cannot be trusted is an error if a failing log
// would pass without it.
func TestSoakLog(t *testing.T) {
	for _, c := range []dialecttest.Case{
		{"the harness's lines", `
[vramsoak] run-start time=2026-11-20T02:00:00Z files=2 feed=process
[vramsoak] file-start time=2026-11-20T02:00:03.123Z index=1 path=audio/0001.wav audio_seconds=14.250
[vramsoak] sample time=2026-11-20T02:00:03.223Z pid=4711 device=1 used=8053063680 total=25769803776
[vramsoak] file-end time=2026-11-20T02:00:04Z index=1 path=audio/0001.wav status=oom
[vramsoak] exit time=2026-11-20T02:00:05Z pid=4711 code=-1 signal=killed
`, `
1 RunStart
2 file-start pipeline=false "audio/0001.wav"
3 sample gpu1 total=24576MiB used=7680MiB pid=4711
4 file-end pipeline=false "audio/0001.wav" oom
5 exit code=-1 signal="killed"
`},
		{"a quoted line is the pipeline's", `
[vramsoak] quote
[vramsoak] file-end time=2026-11-20T02:00:04Z index=1 status=ok
`, `
2 Quoted
`},
		{"a quoted quote does not quote the next line", `
[vramsoak] quote
[vramsoak] quote
[vramsoak] file-end time=2026-11-20T02:00:04Z index=1 path=a.wav status=failed
`, `
2 Quoted
3 file-end pipeline=false "a.wav" failed
`},
		{"a quoted checkpoint of the pipeline is removed with its line", `
[vramsoak] quote
[vramsoak] [pipeline] file-end path=a.wav status=ok
`, `
2 Quoted
`},
		{"words of a program in a line of the harness are not the program's", `
[vramsoak] run-end time=2026-11-20T02:00:05Z files=1 error="used 3 MiB"
used 3 MiB
`, `
1 RunEnd
2 checkpoint "used" used=3MiB
`},
		{"torn lines and wrong values", `
[vramsoak] file-end time=2026-11-20T02:00:0
[vramsoak] file-end time=2026-11-20T02:00:04Z index=one status=ok
[vramsoak] file-end time=2026-11-20T02:00:04Z index=1 status=fine
[vramsoak] file-ended time=2026-11-20T02:00:04Z
[vramsoak] sample time=2026-11-20T02:00:03Z pid=1 device=0 used=7.5GiB
`, `
1 unreadable: expected an RFC 3339 time after time=, found "2026-11-20T02:00:0"
2 unreadable: expected a whole number after index=, found "one"
3 unreadable: expected status=ok, failed, timeout, crashed or oom, found "fine"
4 unreadable: expected an event of the harness after [vramsoak], found "file-ended"
5 unreadable: expected whole bytes after used=, found "7.5GiB"
`},
		{"a log that was wrapped as a whole", `
2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed
2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=ok
`, `
1 file-end pipeline=false "" crashed
2 file-end pipeline=false "" ok
`},
		{"a wrapped line in a log without wrappers: a failed file is an error, a good one is not", `
[vramsoak] run-start time=2026-11-20T02:00:00Z files=2
2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed
[rank0]: [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=ok
INFO - [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed
`, `
1 RunStart
2 unreadable: expected [vramsoak] file-end at the beginning of its line; elsewhere it is not read, found "[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed"
3 Quoted
4 unreadable: expected [vramsoak] file-end at the beginning of its line; elsewhere it is not read, found "[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed"
`},
		{"a line with one wrapper more: a failed file is an error, a good one is not", `
2026-11-20T02:00:00Z [vramsoak] run-start time=2026-11-20T02:00:00Z files=2
2026-11-20T02:00:00Z 2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=ok
2026-11-20T02:00:00Z 2026-11-20T02:00:00Z [vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed
`, `
1 RunStart
2 Quoted
3 unreadable: expected [vramsoak] file-end at the beginning of its line; elsewhere it is not read, found "[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=crashed"
`},
		{"lines without the wrapper of the lines before them", `
2026-11-20T02:00:00Z [vramsoak] run-start time=2026-11-20T02:00:00Z files=2
[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 status=ok
`, `
1 RunStart
2 unreadable: expected a line of vramsoak behind the same prefix as the lines of vramsoak before it, found "[vramsoak]"
`},
		{"a coloured line is an error", "\x1b[32m[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2\x1b[0m\n", `
1 unreadable: expected [vramsoak] run-start as vramsoak writes it: with no colours and nothing else added, found "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2"
`},
		{
			"an escape inside the prefix, in a log without the harness",
			"[vram\x1b[0msoak] file-end time=2026-11-20T02:00:02Z index=2 status=failed\n", `
1 unreadable: expected [vramsoak] file-end as vramsoak writes it: with no colours and nothing else added, found "[vramsoak] file-end time=2026-11-20T02:00:02Z index=2 status=failed"
`,
		},
		{
			"an escape inside the prefix, behind a line of the harness, which had no reason to quote it",
			"[vramsoak] run-start time=2026-11-20T02:00:00Z files=2\n" +
				"[vram\x1b[0msoak] file-end time=2026-11-20T02:00:02Z index=2 status=failed\n",
			`
1 RunStart
2 Quoted
`,
		},
		{
			"an escape before the prefix, behind a line of the harness",
			"[vramsoak] run-start time=2026-11-20T02:00:00Z files=2\n" +
				"\x1b[0m[vramsoak] file-end time=2026-11-20T02:00:02Z index=2 status=failed\n",
			`
1 RunStart
2 unreadable: expected [vramsoak] file-end as vramsoak writes it: with no colours and nothing else added, found "[vramsoak] file-end time=2026-11-20T02:00:02Z index=2 status=failed"
`,
		},
		{"a mention is nothing", `
see "[vramsoak] file-end status=failed" in the log
`, ``},
		{"the pipeline's lines", `
[pipeline] file-start path=audio/0012.wav
[pipeline] file-end path=audio/0012.wav status=failed
[pipeline] run-start files=2
[pipeline] file-end status=o
`, `
1 file-start pipeline=true "audio/0012.wav"
2 file-end pipeline=true "audio/0012.wav" failed
3 unreadable: expected file-start, file-end or segments after [pipeline], found "run-start"
4 unreadable: expected status=ok, failed, timeout, crashed or oom, found "o"
`},
		{"the pipeline's lines behind loggers", `
INFO - [pipeline] file-end path=1.wav status=failed
2026-11-20 02:00:03,123 INFO asr.run: [pipeline] file-end path=2.wav status=failed
DEBUG:root:[pipeline] file-start path=3.wav
{"level": "info", "message": "[pipeline] file-end path=\"4 a.wav\" status=failed", "line": 7}
time=2026-11-20T02:00:03Z level=INFO msg="[pipeline] file-end path=5.wav status=failed"
2026-11-20 02:00:03 [info     ] [pipeline] file-end path=6.wav status=failed
[02:00:03] INFO     [pipeline] file-end path=7.wav status=failed            run.py:41
 40%|████      | 4/10 [00:03<00:05,  1.1it/s][pipeline] file-end path=8.wav status=failed
I1120 02:00:03.123456 4711 run.cc:41] [pipeline] file-end path=9.wav status=failed
asr> [pipeline] file-end path=10.wav status=failed
`, `
1 file-end pipeline=true "1.wav" failed
2 file-end pipeline=true "2.wav" failed
3 file-start pipeline=true "3.wav"
4 file-end pipeline=true "4 a.wav" failed
5 file-end pipeline=true "5.wav" failed
6 file-end pipeline=true "6.wav" failed
7 file-end pipeline=true "7.wav" failed
8 file-end pipeline=true "8.wav" failed
9 file-end pipeline=true "9.wav" failed
10 file-end pipeline=true "10.wav" failed
`},
		{"the pipeline's lines in wrappers", `
2026-11-20T02:00:03.123456789Z [pipeline] file-end path=1.wav status=failed
[pod/asr-0/main] 2026-11-20T02:00:03Z INFO:root:[pipeline] file-end path=2.wav status=failed
[rank1]: [pipeline] file-end path=3.wav status=failed
(train pid=7, ip=10.0.0.3) [pipeline] file-end path=4.wav status=failed
`, `
1 file-end pipeline=true "1.wav" failed
2 file-end pipeline=true "2.wav" failed
3 file-end pipeline=true "3.wav" failed
4 file-end pipeline=true "4.wav" failed
`},
		{"the pipeline's lines in quotes", `
1795688786000,"[pipeline] file-end path=1.wav status=failed"
[1] "[pipeline] file-end path=2.wav status=failed"
b'[pipeline] file-end path=3.wav status=failed\n'
[19.654, "o", "[pipeline] file-end path=\"4 a.wav\" status=failed\r\n"]
        "[pipeline] file-end path=5.wav status=failed",
`, `
1 file-end pipeline=true "1.wav" failed
2 file-end pipeline=true "2.wav" failed
3 file-end pipeline=true "3.wav" failed
4 file-end pipeline=true "4 a.wav" failed
5 file-end pipeline=true "5.wav" failed
`},
		{"mentions of the pipeline's lines", `
print("[pipeline] file-end path=a.wav status=failed")
Print [pipeline] file-end path=<file> status=failed
For a failed file, print [pipeline] file-end status=failed
a line such as [pipeline] file-start path=a.wav begins a file
logger.info(f"[pipeline] file-start path={path}")
`, ``},
		{"a damaged line behind a logger is an error", `
INFO:root:[pipeline] file-end path=1.wav status=fail
`, `
1 unreadable: expected status=ok, failed, timeout, crashed or oom, found "fail"
`},
	} {
		t.Run(c.Name, func(t *testing.T) {
			dialects := []*scan.Dialect{&soaklog.Harness, &soaklog.Pipeline, &dialecttest.Used}
			batches := soaklog.ResolveQuotes(dialecttest.Batches(c.Log, dialects))
			dialecttest.Compare(t, c.Want, dialecttest.Show(t, batches))
		})
	}
}
