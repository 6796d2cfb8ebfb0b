package source

import (
	"bytes"

	"vramsoak/parser/lex"
)

// LoggerEnd returns the length of the prefix that a logger put before a line, with the blanks
// behind it, or 0. [MessageStart] does the same for the text before a record. LoggerEnd knows the
// whole line and no record. A message may look like a prefix. So LoggerEnd accepts only these
// forms: a time and a level, a level and the name of a logger, a level in brackets. In these lines,
// the message is "memory: 3 GB":
//
//	2026-11-20 02:00:03,123 - asr.run - INFO - memory: 3 GB
//	2026-11-20 02:00:03.123 | INFO     | __main__:run:41 - memory: 3 GB
//	[2026-11-20 02:00:03,123] [INFO] memory: 3 GB
//	INFO:asr.run:memory: 3 GB
//	INFO 11-20 02:00:03 [core.py:708] memory: 3 GB
//	[INFO|trainer.py:2128] 2026-11-20 02:00:03,123 >> memory: 3 GB
//	I1120 02:00:03.123456    4711 run.cc:41] memory: 3 GB
func LoggerEnd(line []byte) (end int) {
	for range 2 { // a logger may print the line of another logger
		n := loggerEnd(line[end:])
		if n == 0 {
			break
		}
		end += n
	}
	return end
}

// WithoutLogger returns a line without the prefix of a logger, see [LoggerEnd].
func WithoutLogger(line []byte) []byte { return line[LoggerEnd(line):] }

// loggerHeadMax is the most bytes of a logger's prefix before its level.
const loggerHeadMax = 128

// loggerEnd returns the length of the prefix of one logger at the beginning of a text.
func loggerEnd(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	if lex.IsDigit(text[1]) && bytes.IndexByte([]byte("IWEF"), text[0]) >= 0 {
		return len(glogPrefix().Find(text[:min(len(text), loggerHeadMax)]))
	}
	at, n := findLevel(text[:min(len(text), loggerHeadMax)])
	if n == 0 || !loggerHead().Match(text[:at]) {
		return 0
	}
	behind := text[at+n : min(len(text), at+n+2*loggerHeadMax)]
	end := markEnd(text[:at], behind)
	place := len(loggerPlace().Find(behind[end:]))
	if next := behind[end+place:]; place > 0 && len(next) > 0 && behind[end+place-1] == ']' &&
		(next[0] == ':' || next[0] == '<') {
		place = 0 // a launcher's prefix: "[default3]:", "[1,3]<stdout>:"
	}
	if place == 0 && end == 1 && behind[0] == ':' { // INFO:root:
		place = len(loggerName().Find(behind[end:]))
	}
	if at == 0 && place == 0 && !bytes.ContainsAny(behind[:end], ":|-") {
		return 0 // a sentence that begins with such a word
	}
	end += place
	return at + n + len(behind) - len(lex.TrimBlanks(behind[end:]))
}

// markEnd returns the length of the mark at the beginning of the text behind a level: "] ", " - ",
// "     | ". A '|' is such a mark if the text before the level has one too. Otherwise it may begin
// the row of a table.
func markEnd(before, behind []byte) (end int) {
	if len(behind) > 0 && (behind[0] == ']' || behind[0] == ')') {
		end++
	}
	blanks := end + len(behind[end:]) - len(lex.TrimBlanks(behind[end:]))
	stop := blanks
	for stop < len(behind) && stop < blanks+2 && (bytes.IndexByte([]byte(":>-"), behind[stop]) >= 0 ||
		behind[stop] == '|' && (stop == 0 || bytes.IndexByte(before, '|') >= 0)) {
		stop++
	}
	if stop > blanks {
		end = stop
	}
	return len(behind) - len(lex.TrimBlanks(behind[end:]))
}

// findLevel returns the offset and the length of the first level of a logger in a text. The length
// is 0 if there is none.
func findLevel(text []byte) (at, n int) {
	for i, c := range text {
		if c >= 'A' && c <= 'Z' && (i == 0 || !lex.IsWordByte(text[i-1])) {
			if n = lex.LevelAt(text[i:]); n > 0 {
				return i, n
			}
		}
	}
	return 0, 0
}

// EndsInLogger reports whether a text ends in the level of a logger, or in the place in program
// source that Loguru prints. If so, the message begins behind the separator that follows the text:
//
//	2026-11-20 02:00:03,123 - asr.run - INFO
//	2026-11-20 02:00:03.123 | INFO     | __main__:run:41
func EndsInLogger(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	last := len(text)
	for last > 0 && text[last-1] != ' ' {
		last--
	}
	word := bytes.TrimLeft(text[last:], "[(")
	if n := lex.LevelAt(word); n > 0 {
		return len(bytes.TrimRight(word[n:], ")]:")) == 0
	}
	return len(word) > 0 && lex.IsDigit(word[len(word)-1]) && loguruPlace().Match(word)
}

const (
	loggerTime = `\d[\dTZ:.,/+-]{4,40}(?:[ -]\d[\dZ:.,+-]{4,20})?`
	loguru     = `[\w.]{1,80}:(?:\w{1,80}|<\w{1,40}>):\d{1,6}`
)

var (
	// loggerHead matches what precedes the level: a time, and names behind it.
	loggerHead = lex.Expression(`^(?:[\s:]*[\[(]?` + loggerTime + `[\])]?[\s|:-]*` +
		`(?:(?:\[[^\]\[]{1,64}\][\s|:-]*|[\w./<>-]{1,80}[\s|:-]+)){0,4})?[\[(]?$`)
	// loggerPlace matches a name, a time and a place in program source behind the level.
	loggerPlace = lex.Expression(`^(?:` + loguru + ` - ` +
		`|[\d-]{5,10} [\d:.,]{8,15} \[?[\w./-]+:\d+\] ?` + // Abseil, vLLM
		`|[\w./-]+:\d+\] [\d-]{10} [\d:.,]{8,15} >> ?` + // Transformers
		`|\[[\w.:-]{1,64}\](?: -)?[ \t]*` +
		`|\w[\w.]{0,80}\.py(?::\d+)? +` +
		`|\w{1,80}\.[\w.]{1,80}:[ \t]+` +
		`|\w{1,80}[._][\w.]{0,80}[ \t]+[|:-][ \t]+)`)
	loggerName  = lex.Expression(`^[\w.]{1,80}:`)
	loguruPlace = lex.Expression(`^` + loguru + `$`)
)
