package dialect

import (
	"bytes"

	"vramsoak/parser/dialect/failure"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// readConfig reads the outcome of a test of one model with one configuration:
//
//	✅ GAN config OK - 3.21 GB used
//	❌ GAN config FAILED: CUDA out of memory. Tried to allocate 2.34 GiB (...)
//
// The parameter at is the offset of " config".
func readConfig(l *scan.Line, at int) (end int) {
	if at < 0 || !bytes.HasPrefix(l.Text[at:], []byte(" config ")) {
		return 0
	}
	start := l.Head(at).Message()
	name := l.Text[start:at]
	if n := len(bytes.TrimSpace(name)); n == 0 || n > 64 || source.IsTemplate(name) {
		return 0
	}
	stage := l.Str(l.Text[start : at+len(" config")])
	outcome := l.Text[at+len(" config "):]
	if rest, ok := cutFold(outcome, "ok"); ok {
		return readConfigOK(l, at, stage, rest)
	}
	rest, _ := cutFold(outcome, "failed")
	return readConfigFailed(l, at, stage, rest)
}

// configLevel matches the level behind the outcome: " - 3.21 GB used", " (4.00 GB peak)".
var configLevel = lex.Expression(`(?i)^(?: - |: | \()(?P<size>\d[\d.]* ?[KMGT]i?B) ` +
	`(?:used|allocated|(?P<peak>peak))\b`)

// readConfigOK reads the memory of a configuration that fits, as one checkpoint.
func readConfigOK(l *scan.Line, at int, stage string, rest []byte) (end int) {
	m := configLevel().FindSubmatchIndex(lex.FirstBytes(rest, 64))
	if m == nil {
		return 0
	}
	s, _, ok := lex.CutSize(rest[m[2]:], 0)
	if !ok || s.Bytes < 0 {
		return 0
	}
	q := record.Allocated
	if m[4] >= 0 {
		q = record.Peak
	}
	l.Checkpoint(at, stage).Set(q, s)
	return len(l.Text) - len(rest) + m[1]
}

// oomAfterFailed matches the reason of a configuration that does not fit.
var oomAfterFailed = lex.Expression(`(?i)^[^\w]{1,4}(?:.{0,64}\W)?(?:out of memory|OOM)(?:$|\W)`)

// readConfigFailed reads a configuration that does not fit. It returns 0 if the test failed for
// another reason than memory.
func readConfigFailed(l *scan.Line, at int, stage string, rest []byte) (end int) {
	if !oomAfterFailed().Match(lex.FirstBytes(rest, 128)) || l.Head(at).InSource() {
		return 0
	}
	head := len(l.Text) - len(rest)
	if i := bytes.Index(rest, []byte("out of memory")); i >= 0 {
		end = failure.ReadOutOfMemory(l, head+i)
	}
	if end == 0 {
		l.Add(record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)})
		end = len(l.Text)
	}
	if o, ok := l.Last().(record.OutOfMemory); ok {
		o.Stage, o.Batch = stage, failure.BatchNear(l, l.Text, stage)
		l.Undo()
		l.Put(o)
	}
	addBatchSizes(l)
	return end
}

// readOOMError reads a failed allocation behind "OOM Error: ".
func readOOMError(l *scan.Line, at int) (end int) {
	message := l.Text[at+len("OOM Error: "):]
	if len(bytes.TrimSpace(message)) == 0 || source.IsTemplate(message) ||
		l.Head(at).InSource() {
		return 0
	}
	i := bytes.Index(message, []byte("out of memory"))
	if i < 0 || failure.ReadOutOfMemory(l, at+len("OOM Error: ")+i) == 0 {
		l.Add(record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)})
	}
	addBatchSizes(l)
	return len(l.Text)
}

// addBatchSizes appends the batch sizes that did not fit to the text of the failed allocation that
// was read last. The lines behind the error give them.
func addBatchSizes(l *scan.Line) {
	o, ok := l.Last().(record.OutOfMemory)
	for n := 1; ok && n <= 3; n++ {
		after, there := l.Peek(n)
		if !there {
			break
		}
		_, sizes, found := bytes.Cut(after, []byte("Current: "))
		if found && bytes.Contains(sizes, []byte("BATCH_SIZE=")) {
			sizes = source.Unquoted(sizes[:min(len(sizes), 80)])
			o.Text = lex.Shorten(o.Text, 200) + " (" + l.Str(sizes) + ")"
			l.Undo()
			l.Put(o)
			break
		}
	}
}

// batchSize matches a setting of a batch size: "GAN_BATCH_SIZE=12", "GAN batch size 24".
var batchSize = lex.Expression(`(?i)batch[ _-]?size(?: to)?[ =:]{1,3}\d+`)

// readSuggestion reads the settings that a program suggests after memory ran out:
//
//	Suggested: GAN_BATCH_SIZE=12, BATCH_SIZE=6
//	Suggested: GAN batch size 24, ViT batch size 12
func readSuggestion(l *scan.Line, at int) (end int) {
	_, text, _ := bytes.Cut(l.Text[at:], []byte(" "))
	text = source.Unquoted(lex.FirstBytes(text, 200))
	if !batchSize().Match(text) || source.IsTemplate(text) || l.Head(at).InSource() ||
		hasWords(withoutTags(l.Head(at).Words())) {
		return 0
	}
	l.Add(record.Event{Header: l.Header(at), Kind: record.EventSuggestion, Text: l.Str(text)})
	return len(l.Text)
}
