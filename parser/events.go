package parser

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ownDialect is that of the harness:
//
//	[vramsoak] file-start time=2026-11-20T02:00:03.123Z index=12 path=audio/0012.wav audio_seconds=14.250
//	[vramsoak] sample time=2026-11-20T02:00:03.223Z pid=4711 device=0 used=8053063680 total=25769803776 source=process rss=1
var ownDialect = dialect{
	name:    "vramsoak",
	needles: []string{HarnessPrefix},
	read:    readHarness,
}

// protocolDialect is that of a pipeline that names its files, or says what its allocator holds:
//
//	[pipeline] file-start path=audio/0012.wav
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
var protocolDialect = dialect{
	name:    "pipeline",
	needles: []string{ProtocolPrefix},
	read: func(l *line, at int) int {
		if !l.begins(at) {
			return l.isBehind(at, ProtocolPrefix+" file-end ", "status=failed", "status=oom")
		}
		l.add(parseOwn(l.text[at+len(ProtocolPrefix):], l.header(at), true))
		return len(l.text)
	},
}

// isBehind adds an error where a line that says how something ended stands behind what a logger or a
// collector of logs put before it, as "kubectl logs --timestamps" does. It is not read, because it may
// only be a mention, and not passed over either: then a log in which files failed would pass.
func (l *line) isBehind(at int, head string, says ...string) (end int) {
	text := l.text[at:min(len(l.text), at+near)]
	mentions := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	if l.cut() || isQuoted(l.text, at) || !bytes.HasPrefix(text, []byte(head)) || !slices.ContainsFunc(says, mentions) {
		return 0
	}
	l.bad(at, strings.TrimSpace(head)+" at the beginning of its line, where alone it is read",
		fmt.Sprintf("%d bytes before it; cut what stands before each line, or check soak.log itself", at))
	return len(l.text)
}

func parseOwn(text []byte, head Header, pipeline bool) Record {
	kind, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	f := &fields{values: map[string]string{}, head: head}
	if err := logfmt(rest, func(key, value string) { f.values[key] = value }); err != nil {
		return f.bad("key=value fields after "+kind, err.Error())
	}
	if s, ok := f.values["time"]; ok {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return f.bad("an RFC 3339 time after time=", s)
		}
		f.head.Time = t.UTC()
	}
	rec, known := f.record(kind, pipeline)
	switch {
	case f.err != nil:
		return *f.err
	case !known && pipeline:
		return f.bad("file-start, file-end or segments after "+ProtocolPrefix, kind)
	case !known:
		return f.bad("an event of the harness after "+HarnessPrefix, kind)
	}
	return rec
}

func (f *fields) record(kind string, pipeline bool) (rec Record, known bool) {
	switch kind {
	case "file-start":
		return FileStart{
			Header: f.head, Pipeline: pipeline, Index: f.count("index"), Path: f.values["path"],
			AudioSeconds: f.seconds("audio_seconds"),
		}, true
	case "file-end":
		return FileEnd{
			Header: f.head, Pipeline: pipeline, Index: f.count("index"), Path: f.values["path"], Status: f.status(),
			Seconds: f.seconds("seconds"), Error: f.values["error"],
		}, true
	case "segments":
		if pipeline {
			return f.segments(), true
		}
	}
	if pipeline {
		return nil, false
	}
	switch kind {
	case "run-start":
		return RunStart{
			Header: f.head, Files: f.count("files"), Feed: f.values["feed"], Command: f.values["command"],
			Version: f.values["version"], Policy: f.values["policy"], ID: f.values["id"], Until: f.seconds("until"),
			Workers: f.count("workers"), GPU: f.count("gpu"),
		}, true
	case "sample":
		return f.sample(), true
	case "exit":
		code := 0
		if s := f.values["code"]; s == "-1" {
			code = -1
		} else {
			code = f.count("code")
		}
		return Exit{
			Header: f.head, PID: f.count("pid"), Code: code, Signal: f.values["signal"], Reason: ExitReason(f.values["reason"]),
			Restarts: f.count("restarts"), Error: f.values["error"],
		}, true
	case "orphan":
		return Orphan{
			Header: f.head, PID: f.count("pid"), Command: f.values["command"], RSS: f.bytes("rss"),
			Ended: f.values["ended"] == "true",
		}, true
	case "idle":
		return f.idle(), true
	case "holder":
		h := Holder{
			Header: f.head, Lane: Lane{Device: f.count("device")}, PID: f.count("pid"), Command: f.values["command"],
			Ours: f.flag("ours"),
		}
		f.sizes(&h.Reading, Used)
		return h, true
	case "resume":
		return Resume{Header: f.head, Index: f.count("index"), Cut: f.bytes("cut"), Reason: f.values["reason"]}, true
	case "run-end":
		return RunEnd{
			Header: f.head, Files: f.count("files"), Seconds: f.seconds("seconds"), Reason: f.values["reason"],
			Error: f.values["error"],
		}, true
	}
	return nil, false
}

func (f *fields) sample() Sample {
	s := Sample{
		Header: f.head, PID: f.count("pid"), Lane: Lane{Device: f.count("device")}, Source: f.values["source"],
		DeviceUsed: f.bytes("device_used"), Others: f.bytes("others"), RSS: f.bytes("rss"),
	}
	f.sizes(&s.Reading, Used, Total)
	return s
}

func (f *fields) idle() Idle {
	i := Idle{
		Header: f.head, Lane: Lane{Device: f.count("device")}, GPU: f.count("device"), Settled: f.flag("settled"),
		Phase: Phase(f.values["phase"]),
	}
	if _, ok := f.values["gpu"]; ok {
		i.GPU = f.count("gpu")
	}
	if i.Phase != PhaseBefore && i.Phase != PhaseAfter {
		f.expected("phase=before or after", string(i.Phase))
	}
	f.sizes(&i.Reading, Used, Total)
	return i
}

func (f *fields) status() Status {
	s := Status(f.values["status"])
	switch s {
	case StatusOK, StatusFailed, StatusTimeout, StatusCrashed, StatusOOM:
	default:
		f.expected("status=ok, failed, timeout, crashed or oom", string(s))
	}
	return s
}
