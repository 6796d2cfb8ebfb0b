package failure

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// exceptionName matches the name of an exception at the beginning of a traceback's last line. If
// several processes print at the same time, other text may match it, too. Then readTraceback uses
// usualName, which matches only names such as ValueError.
var (
	exceptionName = lex.Expression(`^[A-Za-z_][\w.<>]*(?:$|:)`)
	usualName     = lex.Expression(`^[A-Za-z_][\w.<>]*(?:Error|Exception|Interrupt|Exit)(?:$|:)`)
)

// readTraceback reads a traceback of Python. It also reads one of the library rich, which draws a
// box around it:
//
//	╭─────── Traceback (most recent call last) ───────╮
//
// In a chain of tracebacks ("During handling of the above exception, ..."), the last one says
// what ended the program. So the earlier tracebacks of a chain give no record.
func readTraceback(l *scan.Line, at int) (end int) {
	head := l.Text[at+len(tracebackWords):]
	prefix, _, rich := bytes.Cut(l.Text[:at], []byte("╭"))
	switch {
	case !rich && string(bytes.TrimSpace(head)) != ":", IsTranscript(l.Text[:at]):
		return 0
	case isIgnored(l), at > 0 && len(lex.TrimBlanks(l.Text[:at])) == 0: // indented: quoted
		return 0
	}
	prefix = slices.Clone(bytes.TrimSuffix(prefix, []byte("Original ")))
	c := record.Crash{Text: l.Message(at)}
	from, name := l.End, exceptionName()
	for n := range scan.TracebackMax {
		text, start, stop, ok := l.Below(from)
		if !ok || start-l.End > source.Margin {
			break
		}
		switch again := bytes.Contains(text, tracebackWords); {
		case again && n == 0: // two processes print at once, and the last traceback is read
			return 0
		case bytes.HasPrefix(lex.TrimBlanks(text), record.HarnessPrefixBytes):
			return 0
		case again:
			name = usualName()
		}
		text, from = withoutPrefix(text, prefix), stop
		if len(lex.TrimBlanks(text)) == 0 || isIndented(text) || isFrame(text) {
			continue
		}
		if name.Match(text) {
			text = bytes.TrimSpace(text[:min(len(text), 400)])
			c.Text = lex.Shorten(strings.ToValidUTF8(string(text), "�"), 300)
			c.Traceback = l.LineEnds(l.End, start)
			break
		}
		name = usualName()
	}
	before, _ := l.Previous(1)
	logged := hasErrorLevel(prefix) || hasErrorLevel(before)
	if isInterrupt(c.Text) || isOutOfMemory(c.Text) || isChained(l, from) ||
		logged && recovers(l, from) {
		return 0
	}
	addCrash(l, at, c)
	return at + 1
}

// isFrame reports whether a line begins with a line of the box that rich draws.
func isFrame(text []byte) bool {
	return slices.ContainsFunc(
		[]string{"│", "╰", "╭"},
		func(s string) bool { return bytes.HasPrefix(text, []byte(s)) },
	)
}

// withoutPrefix returns a line of a traceback without the logger's prefix. The parameter prefix
// is the prefix of the traceback's first line. The digits in the two prefixes may differ, because
// each line has its own time.
func withoutPrefix(text, prefix []byte) []byte {
	if len(text) < len(bytes.TrimRight(prefix, " ")) {
		return text
	}
	for i, c := range prefix[:min(len(prefix), len(text))] {
		if text[i] != c && (!lex.IsDigit(c) || !lex.IsDigit(text[i])) {
			return text
		}
	}
	return text[min(len(prefix), len(text)):]
}

// isIgnored reports whether the traceback that begins on this line did not end a program. This is
// so if the line before it says "Exception ignored" or the like. It is also so if the traceback
// comes from Python's resource tracker, which is a helper process.
func isIgnored(l *scan.Line) bool {
	first, _ := l.Peek(1)
	tracker := []byte("/multiprocessing/resource_tracker.py\", line ")
	if bytes.Contains(first[:min(len(first), 256)], tracker) {
		return true
	}
	before, ok := l.Previous(1)
	before = before[:min(len(before), 256)]
	return ok && slices.ContainsFunc(
		[]string{"Exception ignored ", "--- Logging error ---", "Error in atexit"},
		func(s string) bool { return bytes.Contains(before, []byte(s)) },
	)
}

// isInterrupt reports whether the last line of a traceback is an exception that ends a program on
// request: Ctrl-C or sys.exit(0).
func isInterrupt(text string) bool {
	name, value, _ := strings.Cut(text, ":")
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "KeyboardInterrupt", "CancelledError", "GeneratorExit":
		return true
	case "SystemExit":
		value = strings.TrimSpace(value)
		return value == "" || value == "0" || value == "None"
	}
	return false
}

// isOutOfMemory reports whether the last line of a traceback has the usual words of a failed
// allocation. This line then gives a [record.OutOfMemory], and the traceback gives no record. If
// the line has rarer words, the timeline's Builder drops the traceback's record later.
func isOutOfMemory(text string) bool {
	return strings.Contains(text, "cuda.OutOfMemoryError") ||
		strings.HasPrefix(text, "torch.OutOfMemoryError") ||
		strings.Contains(text, "CUDA out of memory") ||
		strings.Contains(text, "CUDA error: out of memory")
}

// maxLinesBehind is how many lines behind a crash are searched for a sign that the program went on.
const maxLinesBehind = 64

// isChained reports whether another traceback of the same failure follows behind the offset end
// in the window's buffer.
func isChained(l *scan.Line, end int) bool {
	return anyBehind(l, end, maxLinesBehind/4, func(text []byte) bool {
		return bytes.Contains(text, []byte("he above exception")) ||
			bytes.Contains(text, []byte("Original Traceback"))
	})
}

// goodLevel matches a logger's level that is below a warning, such as INFO. glog and NeMo print it
// as one letter, and loguru has SUCCESS:
//
//	I1120 02:00:04.123456 4711 run.py:12] done
//	[NeMo I 2026-11-20 02:00:05 asr:349] Finished transcribing 2 files
var goodLevel = lex.Expression(`(?:^|[^\w-])(?:` + lex.GoodLevels + `)(?:[\s:|\])>-]|$)|` +
	`^[DI]\d{4} \d\d:\d\d:|^\[NeMo [DI] \d`)

// recovers reports whether the program caught an error: after the error, it logged a line with a
// level below warning. The parameter end is the offset behind the error.
func recovers(l *scan.Line, end int) bool {
	return anyBehind(l, end, maxLinesBehind, goodLevel().Match)
}

// anyBehind calls wanted with each of the lines behind an offset of the window, at most the given
// number of lines. It reports whether wanted returned true for one of them.
func anyBehind(l *scan.Line, end, lines int, wanted func(text []byte) bool) bool {
	first := end
	for range lines {
		text, start, stop, ok := l.Below(end)
		if !ok || start-first > source.Margin/4 {
			return false
		}
		if wanted(text[:min(len(text), 256)]) {
			return true
		}
		end = stop
	}
	return false
}

// hasErrorLevel reports whether a text has a logger's level for warnings or errors.
func hasErrorLevel(text []byte) bool { return errorLevel().Match(text[:min(len(text), 256)]) }

var errorLevel = lex.Expression(
	`(?:^|[^\w-])(?:` + lex.ErrorLevels + `)(?:[\s:|\])>-]|$)|` +
		`^[WEF]\d{4} \d\d:\d\d:|^\[NeMo [WE] \d`,
)
