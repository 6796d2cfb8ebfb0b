package failure

import (
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
		rest := words[source.LastBarEnd(words):]
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

// messageBefore returns wordsBefore without what nameAndLevel matches at their beginning.
func messageBefore(l *scan.Line, at int) []byte {
	words := wordsBefore(l, at)
	return words[len(nameAndLevel().Find(words)):]
}

// isQuoted reports whether the byte at an offset of a line is inside quotes, see [source.IsQuoted].
// Quotes in a line of JSON or of key=value fields do not count, also behind a prefix:
//
//	worker-1  | {"level": "error", "msg": "OOM detected"}
func isQuoted(text []byte, at int) bool {
	bar := source.LastBarEnd(text[:at])
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

// morePrefix matches the prefix of a logger that names a function, and a time without a year:
// "asr.run:main:41 - ", "11-20 02:00:03 ".
var morePrefix = lex.Expression(`^(?:(?:[\w.<>]+:){1,2}\d+ - |\d\d-\d\d [\d:.]{8,15} )`)

// afterProgress returns the part of a text behind its last progress bar.
func afterProgress(text []byte) []byte { return text[source.LastBarEnd(text):] }

// nameAndLevel matches the name of a logger and a level in lower case: "asr - Warning: ".
var nameAndLevel = lex.Expression(`^(?:[\w.-]{1,64} [-|] )?(?:(?:[Ww]arning|[Ee]rror): )?`)
