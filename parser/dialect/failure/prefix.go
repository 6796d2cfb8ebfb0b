package failure

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// wordsBefore returns the part of a message that precedes the offset `at` of a line. It leaves out
// the prefixes of containers, launchers and loggers, and progress bars, in any order.
func wordsBefore(l *scan.Line, at int) []byte { return withoutPrefixes(l.Head(at).Words()) }

// withoutPrefixes returns a text without the prefixes and progress bars at its beginning.
func withoutPrefixes(words []byte) []byte {
	for range 4 {
		rest := words[barEnd(words):]
		rest = rest[source.MessageStart(rest):]
		rest = source.WithoutProcess(rest)
		rest = rest[len(morePrefix().Find(rest)):]
		if len(rest) == len(words) {
			break
		}
		words = rest
	}
	return words
}

// messageBefore returns wordsBefore without what loggerName matches at their beginning.
func messageBefore(l *scan.Line, at int) []byte {
	words := wordsBefore(l, at)
	return words[len(loggerName().Find(words)):]
}

// isQuoted reports whether the byte at an offset of a line is inside quotes, see [source.IsQuoted].
// Quotes in a line of JSON or of key=value fields do not count, also behind a prefix:
//
//	worker-1  | {"level": "error", "msg": "OOM detected"}
func isQuoted(text []byte, at int) bool {
	bar := barEnd(text[:at])
	if !source.IsQuoted(text[bar:], at-bar) {
		return false
	}
	fields := fieldsStart().FindIndex(lex.FirstBytes(text[bar:at], 128))
	if fields == nil {
		return true
	}
	from := bar + fields[0]
	return len(withoutPrefixes(text[bar:from])) > 0 || source.IsQuoted(text[from:], at-from)
}

// fieldsStart matches the beginning of a line of JSON or of key=value fields.
var fieldsStart = lex.Expression(`\{ ?"\w+" ?:|\b(?:time|ts|level)=`)

// morePrefix matches the prefixes of the container runtime, of syslog, and of loggers that name a
// function: "stderr F ", "Nov 20 02:00:03 n1 run.sh[4711]: ", "asr.run:main:41 - ".
var morePrefix = lex.Expression(`^(?:std(?:out|err) [FP] |` +
	`[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ [^\s:]+: |` +
	`(?:[\w.<>]+:){1,2}\d+ - |\d\d-\d\d [\d:.]{8,15} )`)

// afterProgress returns the part of a text behind its last progress bar, see [barEnd].
func afterProgress(text []byte) []byte { return text[barEnd(text):] }

// barEnd returns the offset behind the last progress bar in a text, or 0. A message without a line
// break before it follows such a bar directly:
//
//	45%|████▌     | 105/233 [00:34<00:41,  3.10it/s]WARNING ⚠️ CUDA out of memory
func barEnd(text []byte) int {
	from := max(0, len(text)-512)
	isPart := func(part string) bool { return bytes.Contains(text[from:], []byte(part)) }
	if !slices.ContainsFunc([]string{"/s", "s/", "[=", "━"}, isPart) {
		return 0
	}
	bars := progressBar().FindAllIndex(text[from:], -1)
	if bars == nil {
		return 0
	}
	return from + bars[len(bars)-1][1]
}

// progressBar matches the ends of the progress bars of tqdm, Keras and rich.
var progressBar = lex.Expression(
	`(?:\d|it|\?) ?\[\d[\d:]*(?:<[\d:?]+)?, *[\d.?]+ ?[a-zA-Z]*/[a-zA-Z]+[^\]]{0,200}\] ?|` +
		`\d+/\d+ \[[=>.]{3,64}\](?: - (?:ETA: )?[\d:hms]+)?(?: - \w+: \d+\.\d+(?:e[+-]\d+)?)* ?|` +
		`[━╸╺]+ +(?:\d+/\d+ +)?(?:\d+%)?(?: +[\d:-]+)*`)

// loggerName matches the name of a logger and a level in lower case: "asr - Warning: ".
var loggerName = lex.Expression(`^(?:[\w.-]{1,64} [-|] )?(?:(?:[Ww]arning|[Ee]rror): )?`)
