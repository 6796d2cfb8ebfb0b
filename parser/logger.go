package parser

import (
	"bytes"
)

// messageStart is the offset at which the message begins in what stands before a record, behind what loggers put there:
//
//	2025-09-01 12:00:00,123 - shared_libs.utils.gpu_memory - DEBUG - Epoch 3 start
//	12:00:00,123 | DEBUG   | [gpu_memory] Epoch 3 start
//	: 2025-09-01 12:00:00,123 DEBUG Epoch 3 start
//	DEBUG:shared_libs.utils.gpu_memory:Epoch 3 start
//	{"severity": "DEBUG", "logger": "shared_libs.utils.gpu_memory", "message": "Epoch 3 start
//	[rank0]: Epoch 3 start
//
// It looks no further back than messageMax bytes.
func messageStart(text []byte) int {
	from := max(0, len(text)-messageMax)
	text = text[from:]
	start := bytes.LastIndexByte(text, '"') + 1
	start += len(loggerStart().Find(text[start:]))
	if m := loggerLevel().FindIndex(text[start:]); m != nil {
		start += m[1]
		start += len(loggerModule().Find(text[start:]))
	}
	return from + start
}

const messageMax = 320

var (
	// Brackets, times, a rank, marks and pictures.
	loggerStart = expression(`^(?:[\s:|>*#-]|[^\x00-\x7f]|\[[^\]]{0,64}\]:?|\d{1,6}:\s|[0-9][0-9TZ:.,/+-]{7,40})*`)
	loggerLevel = expression(
		`^.{0,128}?(?:^|[^\w-])(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL)(?:[\s:|\])>-]|[^\x00-\x7f])+`)
	// The module, where it stands behind the level: "scripts.common.enhanced_asr - ", "root:", "gpu_memory.py:41 ",
	// "[gpu_memory] "; and pictures.
	loggerModule = expression(`^(?:\[[\w.:-]{1,64}\]\s*|\w[\w.]{0,80}:(?:\d+:?)?\s*` +
		`|(?:\w{1,80}[._])[\w.]{0,80}\s+[|:-]\s+|\w{1,80}\.py\s+)?(?:[^\x00-\x7f]+\s*)?`)
)

// inSource says that what follows is a string in the source of a program, which a notebook or a traceback shows:
//
//	logger.info("Clearing GPU memory...")
func inSource(before []byte) bool {
	return sourceString().Match(before[max(0, len(before)-32):])
}

var sourceString = expression(`(?:\(f?|^\s*f)\\?["'](?:\\n|[^\x00-\x7f]|\s)*$`)

// An eventWording is what a program says when it does something about its memory.
type eventWording struct {
	text string
	kind EventKind
	with string // what stands behind the text, too
}

// readEvent adds the event whose words stand at an offset, and returns the offset behind them, 0 where there are none. Its
// text is the message from its beginning. What follows the words is left to others: the message of an error.
func readEvent(l *line, at int, wordings []eventWording) (end int) {
	for i := range wordings {
		w := &wordings[i]
		rest, ok := cutPrefix(l.text[at:], w.text)
		if ok && bytes.Contains(rest, []byte(w.with)) && !inSource(l.text[:at]) &&
			(w.kind != EventFallback || !isProposal(rest)) {
			l.add(Event{Header: l.header(at), Kind: w.kind, Text: l.message(messageStart(l.text[:at]))})
			return at + len(w.text)
		}
	}
	return 0
}

// isProposal reports whether the words behind those of a fallback say that it is not made: they are
// of a setting or a hint.
//
//	Falling back to sequential extraction is disabled
//	Attempting GPU recovery and retry with smaller batch may help; set RETRY=1
func isProposal(rest []byte) bool {
	for _, word := range []string{" is ", " may ", " might ", " can ", " could ", " would ", " not ", " disabled"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return true
		}
	}
	return false
}

// eventNeedles are the needles of a dialect's events.
func eventNeedles(wordings []eventWording, more ...string) []string {
	for i := range wordings {
		more = append(more, wordings[i].text)
	}
	return more
}

// unquoted is the end of a message without what a notebook's or a logger's JSON puts behind it.
func unquoted(text []byte) []byte {
	text = bytes.TrimRight(text, " \t,}")
	text = bytes.TrimSuffix(text, []byte(`"`))
	return bytes.TrimSpace(bytes.TrimSuffix(text, []byte(`\n`)))
}
