package source

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// MessageStart returns the offset at which the message begins in text, which is the part of a
// line before a record. Loggers put a prefix before a message. In these lines the message is
// "Epoch 3 start":
//
//	2025-09-01 12:00:00,123 - shared_libs.utils.gpu_memory - DEBUG - Epoch 3 start
//	12:00:00,123 | DEBUG   | [gpu_memory] Epoch 3 start
//	2025-09-01 12:00:00.123 | DEBUG    | __main__:run:41 - Epoch 3 start
//	: 2025-09-01 12:00:00,123 DEBUG Epoch 3 start
//	DEBUG:shared_libs.utils.gpu_memory:Epoch 3 start
//	{"severity": "DEBUG", "logger": "shared_libs.utils.gpu_memory", "message": "Epoch 3 start
//	[rank0]: Epoch 3 start
//
// MessageStart looks only at the last [MessageMax] bytes of the text.
func MessageStart(text []byte) int {
	from := max(0, len(text)-MessageMax)
	text = text[from:]
	start := bytes.LastIndexByte(text, '"') + 1
	for range 2 { // a logger may print the line of another logger
		next := start + prefixEnd(text[start:])
		if next == start {
			break
		}
		start = next
	}
	return from + start
}

// prefixEnd returns the length of the prefix of a logger at the beginning of a text.
func prefixEnd(text []byte) int {
	if m := glogPrefix().FindIndex(text); m != nil {
		return m[1]
	}
	start := len(loggerStart().Find(text))
	if m := loggerLevel().FindIndex(text[start:]); m != nil {
		start += m[1]
		if m := abseilPlace().FindIndex(text[start:]); m != nil {
			return start + m[1]
		}
		if module := loggerModule().Find(text[start:]); !beginsMessage(module) {
			start += len(module)
		}
	}
	return start
}

// beginsMessage reports whether a text that looks like the name of a module begins a message. It
// may be the level of another logger, or the name of an error: "INFO:root:", "RuntimeError: ".
func beginsMessage(module []byte) bool {
	name, _, _ := bytes.Cut(module, []byte{':'})
	return lex.LevelAt(module) > 0 || bytes.HasSuffix(name, []byte("Error")) ||
		bytes.HasSuffix(name, []byte("Exception"))
}

// MessageMax is how many bytes before a record [MessageStart] looks at.
const MessageMax = 320

var (
	// These may precede a message: brackets, times, a rank, punctuation and emoji.
	loggerStart = lex.Expression(
		`^(?:[\s:|>*#-]|[^\x00-\x7f]|\[[^\]]{0,64}\]:?|\d{1,6}:\s|[0-9][0-9TZ:.,/+-]{7,40})*`,
	)
	// glog prints "I1120 02:00:03.123456    4711 run.cc:41] ".
	glogPrefix = lex.Expression(`^[IWEF]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\]\s?`)
	// Abseil prints "2026-11-20 02:00:03.123 run.py:41] " behind the level, and vLLM "11-20 02:00:03
	// [core.py:708] ".
	abseilPlace = lex.Expression(`^[\d-]{5,10} [\d:.,]{8,15} \[?[\w./-]+:\d+\]\s?`)
	loggerLevel = lex.Expression(
		`^.{0,128}?(?:^|[^\w-])(?:` + lex.Levels + `)(?:[\s:|\])>-]|[^\x00-\x7f])+`,
	)
	// The name of a module may follow the level, as in "scripts.common.enhanced_asr - ", "root:",
	// "gpu_memory.py:41 ", "[gpu_memory] " or Loguru's "__main__:run:41 - ". Emoji may follow the
	// name.
	loggerModule = lex.Expression(`^(?:` + loguru + ` - ` +
		`|\[[\w.:-]{1,64}\]\s*|\w[\w.]{0,80}:(?:\d+:?)?\s*` +
		`|(?:\w{1,80}[._])[\w.]{0,80}\s+[|:-]\s+|\w{1,80}\.py\s+)?(?:[^\x00-\x7f]+\s*)?`)
)

// InSource reports whether a record is a string in program source. The parameter before is the
// text before the record. In program source, it ends like the beginning of a string. Notebooks and
// tracebacks show program source:
//
//	logger.info("Clearing GPU memory...")
func InSource(before []byte) bool {
	return sourceString().Match(before[max(0, len(before)-32):])
}

var sourceString = lex.Expression(`(?:\(f?|^\s*f)\\?["'](?:\\n|[^\x00-\x7f]|\s)*$`)

// Unquoted returns a message without the end of a JSON string, such as `\n",`. Notebooks and
// loggers that write JSON put this end behind the message.
func Unquoted(text []byte) []byte {
	text = bytes.TrimRight(text, " \t,}")
	text = bytes.TrimSuffix(text, []byte(`"`))
	return bytes.TrimSpace(bytes.TrimSuffix(text, []byte(`\n`)))
}

// IsFieldValue reports whether a text ends with the beginning of a field's quoted value, in JSON or
// in key=value fields: `{"message": "`, `level=info msg="`.
func IsFieldValue(before []byte) bool {
	before, ok := bytes.CutSuffix(before, []byte(`"`))
	before = bytes.TrimRight(before, " ")
	return ok && (bytes.HasSuffix(before, []byte(`":`)) ||
		len(before) > 1 && before[len(before)-1] == '=' && lex.IsWordByte(before[len(before)-2]))
}

// FieldValue returns the value of a field, without escapes. The parameter text begins inside its
// quotes.
func FieldValue(text []byte) []byte { return appendUnquoted(nil, text) }

// QuotedText returns the beginning of a text, up to the end of the quotes that it is in. The quotes
// begin in the text before.
func QuotedText(before, text []byte) []byte {
	quote := bytes.LastIndexAny(before, "\"'`")
	if quote < 0 || before[quote] == '"' {
		return FieldValue(text)
	}
	text, _, _ = bytes.Cut(text, before[quote:quote+1])
	return bytes.TrimSuffix(text, []byte(`\n`))
}

// WithoutCaller returns a message without the place in the program that some loggers put behind it:
// "    run.py:41", " (run.py:41)".
func WithoutCaller(message []byte) []byte {
	if m := callerBehind().FindIndex(message[max(0, len(message)-128):]); m != nil {
		return message[:max(0, len(message)-128)+m[0]]
	}
	return message
}

var callerBehind = lex.Expression(`\s+[(\[]?[\w./-]+\.(?:py|go|cc|cpp|cu):\d+[)\]]?\s*$`)

// IsTemplate reports whether a text has a brace. Such a text counts as program source, for
// example an f-string, and not as output.
func IsTemplate(text []byte) bool {
	return bytes.IndexByte(text, '{') >= 0 || bytes.IndexByte(text, '}') >= 0
}

// HasPlaceholder reports whether a text has a placeholder of a format string, such as
// "{peak:.2f}" or "{}". Such a text counts as program source. The braces of JSON and of Python's
// dicts are not placeholders. So an empty pair of braces behind a quoted key, as in {'args': {}},
// does not count.
func HasPlaceholder(text []byte) bool {
	for {
		before, rest, ok := bytes.Cut(text, []byte{'{'})
		if !ok || len(rest) == 0 {
			return false
		}
		c := rest[0]
		before = bytes.TrimRight(before, " ")
		isValue := bytes.HasSuffix(before, []byte(`':`)) || bytes.HasSuffix(before, []byte(`":`))
		if lex.IsWordByte(c) && !lex.IsDigit(c) || c == ':' || c == '}' && !isValue {
			return true
		}
		text = rest
	}
}

// IsQuoted reports whether the byte at an offset of a line is inside quotes, as a string in
// program source is. Quotes in a line of JSON or of key=value fields do not count.
func IsQuoted(text []byte, at int) bool {
	if at == 0 {
		return false
	}
	head := lex.TrimBlanks(text[:min(len(text), 128)])
	if bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`":`)) || isLogfmt(head) {
		return false
	}
	before := text[max(0, at-512):at]
	if bytes.IndexByte([]byte("\"'`"), before[len(before)-1]) >= 0 ||
		bytes.Count(before, []byte(`"`))%2 == 1 {
		return true
	}
	single := 0
	for i, c := range before {
		if c == '\'' &&
			(i <= 0 || i+1 >= len(before) || !lex.IsWordByte(before[i-1]) || !lex.IsWordByte(before[i+1])) {
			single++
		}
	}
	return single%2 == 1
}

// speakerMark matches the speaker of a line: the name of the process that printed the line.
// Launchers and loggers write it when several processes print into one log:
//
//	[rank3]: RuntimeError: CUDA error: out of memory                  torch.distributed
//	[default1]:Falling back to sequential extraction (slow)           torchrun --tee
//	(EngineCore_DP0 pid=964370) ERROR 03-09 09:32:24 [core.py:708]    vLLM
//	worker-1  | CUDA error: out of memory                             docker compose
//	3: CUDA error: out of memory                                      srun --label
//	[1,0]<stderr>:CUDA error: out of memory                           mpirun --tag-output
//	2026-11-20 02:00:03,123 - ForkPoolWorker-3 - ERROR -              Python's multiprocessing
var (
	speakerMark = lex.Expression(`(?i)` + numbered + `|^(?:` + labelled + `)`)
	// speakerFirst matches the same names, but only at the line's beginning.
	speakerFirst = lex.Expression(`(?i)^(?:` + numbered + `|` + labelled + `)`)
)

const (
	numbered = `(?:\b|_)` +
		`(?:rank|default|pid|process|proc|worker|gpu|cuda|device|node)[ =:#_-]{0,2}\d+`
	labelled = `[a-z][\w.-]*\d\s+\||\s*\d{1,5}: |\[\d+,\d+\]<`
)

// SpeakerOf returns the speaker of the message at an offset of a line: the name of the process
// that printed it, as in "[rank3]". It returns "" if the text before the message names no
// process.
func SpeakerOf(text []byte, at int) string {
	return SpeakerIn(text[:MessageStart(text[:min(at, MessageMax)])], text[:at])
}

// SpeakerIn is [SpeakerOf] for a caller that has called [MessageStart] already. The parameter
// head is the text before the message. The parameter before is the whole text before the record.
func SpeakerIn(head, before []byte) string {
	marks := speakerMark().FindAll(head, 4)
	if marks == nil { // docker compose prints a name before a logger's prefix
		if first := speakerFirst().Find(before[:min(len(before), 64)]); first != nil {
			marks = [][]byte{first}
		}
	}
	return strings.ToValidUTF8(string(bytes.Join(marks, []byte(" "))), "�")
}

// processMark matches the name of a process at the beginning of a message: "worker-1  | " of
// docker compose, "(train pid=4711) " of Ray, "<stderr>: " of mpirun. [MessageStart] does not skip
// these names, so they are a part of the message.
var processMark = lex.Expression(
	`^(?:[a-z][\w.-]*\d\s+\|\s*|\([\w ]+pid=\d+\)\s*|<std(?:err|out)>:\s?)`,
)

// WithoutProcess returns a message without the name of a process at its beginning.
func WithoutProcess(message []byte) []byte {
	return message[len(processMark().Find(message)):]
}

// WriterIn returns the name of the process that printed a record, as a logger put it before the
// message, or nil. The parameter before is the text of the line before the record:
//
//	2026-11-20 02:00:03,123 | rank1 | INFO |                          "rank 1"
//	[Rank 7]                                                          "rank 7"
//	2026-11-20 02:00:03,123 - ForkPoolWorker-3 - ERROR -              "ForkPoolWorker-3"
//	INFO [pid=4711]                                                   "pid=4711"
//	INFO:run:[default3]:                                              "rank 3"
//	INFO:run:[1,3]<stdout>:                                           "rank 3"
func WriterIn(before []byte) []byte {
	before = before[:min(len(before), 256)]
	if !bytes.Contains(before, []byte("ank")) && !bytes.Contains(before, []byte("RANK")) &&
		!bytes.Contains(before, []byte("pid")) && !bytes.Contains(before, []byte("ocess-")) &&
		!bytes.Contains(before, []byte("orker-")) && !bytes.Contains(before, []byte("[default")) &&
		!bytes.Contains(before, []byte("]<std")) {
		return nil
	}
	all := loggerWriter().FindAllSubmatch(before[:MessageStart(before)], -1)
	for _, m := range slices.Backward(all) { // the nearest to the record counts: [default3]:[Rank 11]
		if n, _, ok := lex.CutInt(m[1]); ok {
			return fmt.Appendf(nil, "rank %d", n)
		}
	}
	if name := writerBehind(before); len(name) > 0 {
		return name
	}
	if all == nil {
		return nil
	}
	return all[len(all)-1][0]
}

// writerBehind returns the name that a launcher put behind a logger's prefix, or nil. A program may
// log the lines of another one.
func writerBehind(before []byte) []byte {
	end := LoggerEnd(before)
	if end == 0 || end == len(before) ||
		before[end] != '[' && before[end] != '(' && !isTaskOfLauncher(before[end:]) {
		return nil
	}
	var u Unwrapper
	w, _ := u.Unwrap(before[end:])
	return w.Writer
}

// isTaskOfLauncher reports whether a text begins with the number of a task and the prefix of a
// launcher in it: "1: [default0]:". A number alone may be anything.
func isTaskOfLauncher(t []byte) bool {
	n := lex.CountDigits(t)
	return n > 0 && bytes.HasPrefix(t[n:], []byte(": ["))
}

var loggerWriter = lex.Expression(
	`(?:\b|_)(?:[Rr]ank|RANK)[ =:_#-]{0,2}(\d{1,5}[\])|:,-]|\d{1,5}\s)` +
		`|\bpid[ =:]{1,2}\d+|\b(?:(?:Fork|Spawn)(?:Pool)?(?:Worker|Process)|Process|PoolWorker)-[\d:]*\d`,
)

// IsQuotedAt reports whether the byte before an offset of a text is a quote.
func IsQuotedAt(text []byte, at int) bool {
	return at > 0 && (text[at-1] == '"' || text[at-1] == '\'' || text[at-1] == '`')
}

// isLogfmt reports whether a line consists of key=value fields (logfmt), judged by its first
// bytes. The loggers slog and logrus print such lines:
//
//	time=2024-01-01T00:00:00Z level=ERROR source=sched.go:455 msg="error loading llama server" error="... out of memory"
//	level=error msg="transcription failed" err="CUDA error: out of memory"
func isLogfmt(head []byte) bool {
	i := bytes.Index(head, []byte("level="))
	return i == 0 || i > 0 && head[i-1] == ' ' && bytes.IndexByte(head[:i], '=') > 0
}
