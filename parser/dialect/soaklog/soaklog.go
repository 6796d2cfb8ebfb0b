package soaklog

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/segments"
	"vramsoak/parser/source"
)

// Harness reads the harness's lines:
//
//	[vramsoak] file-start time=2026-11-20T02:00:03.123Z index=12
//	    path=audio/0012.wav audio_seconds=14.250
//	[vramsoak] sample time=2026-11-20T02:00:03.223Z pid=4711 device=0
//	    used=8053063680 total=25769803776 source=process rss=1
var Harness = scan.Dialect{
	Name:    "vramsoak",
	Needles: []string{record.HarnessPrefix},
	Read:    readHarness,
}

// Pipeline reads the lines in which a pipeline names its files, or lists the segments that its
// allocator holds:
//
//	[pipeline] file-start path=audio/0012.wav
//	[pipeline] segments at="file end" device=0 unit=512 map=7f0000000000L:A5000F5000.
var Pipeline = scan.Dialect{
	Name:    "pipeline",
	Needles: []string{record.ProtocolPrefix},
	Read:    readPipeline,
}

// readPipeline reads a line of the pipeline, which may follow the prefix of a logger or a progress
// bar:
//
//	2026-11-20 02:00:00,123 INFO asr: [pipeline] file-end path=a.wav status=failed
//	{"level": "info", "message": "[pipeline] file-end path=a.wav status=failed"}
//
// Behind other text, or in the quotes of a collector of logs, the line counts only if it is whole
// and names a file. Otherwise it may be a mention, as in a sentence.
func readPipeline(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(record.ProtocolPrefix):]
	switch {
	case l.Begins(at):
		l.Add(parseRecord(text, l.Header(at), true))
		return len(l.Text)
	case l.Cut() || l.Head(at).InSource(),
		bytes.HasPrefix(lex.TrimBlanks(l.Text), record.HarnessPrefixBytes): // the harness quotes it
		return 0
	case source.IsFieldValue(l.Text[:at]):
		text = source.FieldValue(text)
	case source.IsQuoted(l.Text, at):
		text = source.QuotedText(l.Text[:at], text)
	default:
		text = source.WithoutCaller(text)
	}
	rec := parseRecord(text, l.Header(at), true)
	if _, bad := rec.(record.SyntaxError); l.Head(at).EndsPrefix() || !bad && namesFile(rec) {
		l.Add(rec)
		return len(l.Text)
	}
	return addMisplacedEnd(l, at)
}

// namesFile reports whether a record names a file by a path that is no placeholder.
func namesFile(rec record.Record) bool {
	path := ""
	switch r := rec.(type) {
	case record.FileStart:
		path = r.Path
	case record.FileEnd:
		path = r.Path
	}
	return path != "" && !strings.ContainsAny(path, "<>{}$")
}

// addMisplacedEnd adds an error for a line that says that a file failed, but cannot be read behind
// the text that precedes it. The parameter at is the offset of "[pipeline]":
//
//	so [pipeline] file-end path=a.wav status=failed, and that was it
//
// Such a line may be a mention, so it gives no record. But if it were ignored, a log in which
// files failed would pass. The result end is the end of the line, or 0 if the line is not of this
// kind.
func addMisplacedEnd(l *scan.Line, at int) (end int) {
	const head = record.ProtocolPrefix + " file-end"
	text := l.Text[at:min(len(l.Text), at+scan.Near)]
	if !bytes.HasPrefix(text, []byte(head+" path=")) ||
		bytes.HasPrefix(text, []byte(head+" path=<")) ||
		!bytes.Contains(text, []byte("status=failed")) && !bytes.Contains(text, []byte("status=oom")) {
		return 0
	}
	l.Bad(at, head+" at the beginning of its line or behind a logger's prefix",
		fmt.Sprintf("%d bytes precede it; remove them from each line, or check soak.log itself", at))
	return len(l.Text)
}

// parseRecord returns the record that the text behind a line's prefix gives, or a
// [record.SyntaxError].
func parseRecord(text []byte, head record.Header, pipeline bool) record.Record {
	kind, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	f := &lex.Fields{Head: head}
	if err := f.Read(rest); err != nil {
		bad := f.Bad("key=value fields after "+kind, err.Error())
		if pipeline {
			bad.Advice = `print a value that has spaces in quotes: path="my talk.wav"`
		}
		return bad
	}
	if s, ok := f.Lookup("time"); ok {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return f.Bad("an RFC 3339 time after time=", s)
		}
		f.Head.Time = t.UTC()
	}
	rec, known := recordOf(f, kind, pipeline)
	switch {
	case f.Err != nil:
		return *f.Err
	case !known && pipeline:
		return f.Bad("file-start, file-end or segments after "+record.ProtocolPrefix, kind)
	case !known:
		return f.Bad("an event of the harness after "+record.HarnessPrefix, kind)
	}
	return rec
}

// recordOf returns the record of a kind such as "file-start" with the fields in f. known is false
// if there is no record of this kind. A pipeline gives its rank if several of its processes print
// into one log.
func recordOf(f *lex.Fields, kind string, pipeline bool) (rec record.Record, known bool) {
	if rank := f.Count("rank"); pipeline && rank > 0 && kind != "segments" {
		f.Head.Writer = record.ProcessOf(f.Head.Writer, rank)
	}
	switch kind {
	case "file-start":
		return record.FileStart{
			Header: f.Head, Pipeline: pipeline, Index: f.Count("index"), Path: f.Get("path"),
			AudioSeconds: f.Seconds("audio_seconds"),
		}, true
	case "file-end":
		return record.FileEnd{
			Header: f.Head, Pipeline: pipeline, Index: f.Count("index"), Path: f.Get("path"),
			Status:  statusOf(f),
			Seconds: f.Seconds("seconds"), Error: f.Get("error"),
		}, true
	case "segments":
		if pipeline {
			return segments.ReadPart(f), true
		}
	}
	if pipeline {
		return nil, false
	}
	switch kind {
	case "run-start":
		return record.RunStart{
			Header: f.Head, Files: f.Count("files"), Feed: f.Get("feed"), Command: f.Get("command"),
			Version: f.Get("version"), Policy: f.Get("policy"), ID: f.Get("id"),
			Until: f.Seconds("until"), FailFast: f.Flag("fail_fast"),
			Workers: f.Count("workers"), GPU: f.Count("gpu"),
			Share: record.Share{
				Shard: f.Count("shard"), Shards: f.Count("shards"), Of: f.Count("of"),
				Batch: f.Get("batch"), Run: f.Get("run"), Owner: ownerOf(f),
			},
		}, true
	case "sample":
		return sampleOf(f), true
	case "exit":
		code := 0
		if s := f.Get("code"); s == "-1" {
			code = -1
		} else {
			code = f.Count("code")
		}
		return record.Exit{
			Header: f.Head, PID: f.Count("pid"), Code: code, Signal: f.Get("signal"),
			Reason:   record.ExitReason(f.Get("reason")),
			Restarts: f.Count("restarts"), Error: f.Get("error"),
		}, true
	case "orphan":
		return record.Orphan{
			Header: f.Head, PID: f.Count("pid"), Command: f.Get("command"), RSS: f.Bytes("rss"),
			Ended: f.Get("ended") == "true",
		}, true
	case "holding":
		return holdingOf(f), true
	case "limits":
		return record.Limits{
			Header: f.Head, PID: f.Count("pid"), Memory: f.Bytes("memory"), Group: f.Flag("group"),
			Files: f.Count("fds"), Tasks: f.Count("tasks"), Shared: f.Bytes("shm"),
		}, true
	case "leftover":
		return record.Leftover{
			Header: f.Head, Path: f.Get("path"), Bytes: f.Bytes("bytes"), Seen: f.Flag("seen"),
		}, true
	case "idle":
		return idleOf(f), true
	case "holder":
		h := record.Holder{
			Header: f.Head, Lane: record.Lane{Device: f.Count("device")}, PID: f.Count("pid"),
			Command: f.Get("command"),
			Ours:    f.Flag("ours"),
		}
		f.Sizes(&h.Reading, record.Used)
		return h, true
	case "resume":
		return record.Resume{
			Header: f.Head, Index: f.Count("index"), Cut: f.Bytes("cut"),
			Reason: f.Get("reason"), Owner: ownerOf(f), After: f.Bytes("after"),
		}, true
	case "early-end":
		return record.EarlyEnd{
			Header: f.Head, Look: f.Count("look"), Files: f.Count("files"), Lines: f.Count("lines"),
			Check: f.Get("check"), Subject: f.Get("subject"), Found: f.Get("found"),
		}, true
	case "run-end":
		return record.RunEnd{
			Header: f.Head, Files: f.Count("files"), Seconds: f.Seconds("seconds"),
			Reason: f.Get("reason"),
			Error:  f.Get("error"),
		}, true
	}
	return nil, false
}

func ownerOf(f *lex.Fields) record.Owner {
	return record.Owner{Lease: f.Count("lease"), Node: f.Get("node")}
}

func sampleOf(f *lex.Fields) record.Sample {
	s := record.Sample{
		Header: f.Head, PID: f.Count("pid"), Lane: record.Lane{Device: f.Count("device")},
		Source:     f.Get("source"),
		DeviceUsed: f.Bytes("device_used"), Others: f.Bytes("others"), RSS: f.Bytes("rss"),
		Pool: f.Get("pool"),
	}
	f.Sizes(&s.Reading, record.Used, record.Total)
	resources(f, &s.Held)
	return s
}

func holdingOf(f *lex.Fields) record.Holding {
	h := record.Holding{
		Header: f.Head, PID: f.Count("pid"), Index: f.Count("index"), Path: f.Get("path"),
		MostFiles: f.Count("most_fds"), Available: f.Bytes("available"),
		SharedFree: f.Bytes("shm_free"),
	}
	resources(f, &h.Resources)
	return h
}

// resources sets in r each resource that the line has.
func resources(f *lex.Fields, r *record.Resources) {
	for kind := range record.ResourceKinds {
		if _, ok := f.Lookup(kind.String()); ok {
			r.Set(kind, f.Bytes(kind.String()))
		}
	}
}

func idleOf(f *lex.Fields) record.Idle {
	i := record.Idle{
		Header: f.Head, Lane: record.Lane{Device: f.Count("device")}, GPU: f.Count("device"),
		Settled: f.Flag("settled"),
		Phase:   record.Phase(f.Get("phase")),
	}
	if _, ok := f.Lookup("gpu"); ok {
		i.GPU = f.Count("gpu")
	}
	if i.Phase != record.PhaseBefore && i.Phase != record.PhaseAfter {
		f.Expected("phase=before or after", string(i.Phase))
	}
	f.Sizes(&i.Reading, record.Used, record.Total)
	return i
}

func statusOf(f *lex.Fields) record.Status {
	s := record.Status(f.Get("status"))
	switch s {
	case record.StatusOK, record.StatusFailed, record.StatusTimeout, record.StatusCrashed,
		record.StatusOOM:
	default:
		f.Expected("status=ok, failed, timeout, crashed or oom", string(s))
	}
	return s
}
