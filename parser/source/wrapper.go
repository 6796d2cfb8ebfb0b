package source

import (
	"bytes"
	"strconv"

	"vramsoak/parser/lex"
	"vramsoak/parser/search"
)

// A Wrapping is a line of a program, taken out of what other programs put around it.
type Wrapping struct {
	// Text is the program's text. It may have several lines, if a log driver stored several lines
	// as one. It may still have escape sequences.
	Text []byte
	// Head is the number of bytes of the whole line before Text. These bytes, or a key behind Text,
	// may give the time. In a log driver's JSON, Head ends where the JSON text begins.
	Head int
	// Writer names the process that printed the line, as the wrapper gives it:
	// "pod/whisper-3/main", "train pid=7". If the wrapper gives a rank, Writer ends with it: "rank
	// 3". Writer is empty if the wrapper names no process. It is valid until the next call.
	Writer []byte
	// Kind is the set of wrappers around the line, 0 if it has none.
	Kind WrapKind
	// Partial is set if the next line of the same writer and the same stream continues this one.
	Partial bool
	// Stream numbers the program's output streams, if the wrapper names them: 1 for stdout, 2 for
	// stderr, else 0.
	Stream int
}

// Streams is the number of values of [Wrapping].Stream.
const Streams = 3

// A WrapKind is a set of the kinds of wrappers around a line, and their number in the upper bits.
type WrapKind uint16

// oneWrapper adds a wrapper to the number of wrappers.
const oneWrapper WrapKind = 1 << 8

const (
	wrapTime     WrapKind = 1 << iota // a time alone: docker logs -t, GitHub, GitLab, ts, CRI
	wrapJSON                          // a log driver's JSON
	wrapName                          // the name of a pod, a service or a task
	wrapLauncher                      // a launcher's rank
	wrapSyslog                        // journald, syslog
)

// maxWrappers is the most wrappers that are taken off one line.
const maxWrappers = 8

// An Unwrapper takes wrappers off lines. Its buffers are reused from line to line.
type Unwrapper struct {
	text, spare, writer []byte
	rank                int  // -1 for none
	onNode              bool // rank counts the processes of the node that the writer's name has
	// LineNumbers is set if the text "12: " before a line is its number, not a rank. See
	// [HasLineNumbers].
	LineNumbers bool
}

// Unwrap takes everything off a line that containers, launchers, schedulers and CI put around it:
//
//	{"log":"...\n","stream":"stderr","time":"2026-11-20T02:00:03.1Z"}   Docker's json-file driver
//	2026-11-20T02:00:03.123Z ...                          docker logs -t, kubectl logs --timestamps
//	2026-11-20T02:00:03.123456789Z stderr F ...           CRI: the files of Kubernetes
//	2026-11-20T02:00:03.123456Z 00O ...                   GitLab
//	[pod/whisper-3/main] ...                              kubectl logs --prefix
//	worker-1  | ...                                       docker compose
//	[rank3]: ...                                          torch.distributed
//	[default3]:...                                        torchrun --tee
//	3: ...                                                srun --label
//	[1,3]<stdout>:...                                     mpirun --tag-output
//	(Worker_TP3 pid=7) ...                                vLLM
//	(train pid=7, ip=10.0.0.3) ...                        Ray
//	[2026-11-20 02:00:03 DP0 TP3 EP0] ...                 SGLang
//	Nov 20 02:00:03 gpu1 whisper[4711]: ...               journald, syslog
//
// The prefix of a logger inside the program stays, see [MessageStart]. Wrappers may be wrapped
// again. ok is false if there is no wrapper. The line must have no line end.
func (u *Unwrapper) Unwrap(line []byte) (w Wrapping, ok bool) {
	if !mayBeWrapped(line) {
		return w, false
	}
	u.writer, u.rank, u.onNode = u.writer[:0], -1, false
	t := line
	escaped := bytes.IndexByte(line, search.Escape) >= 0
	inJSON := false
	for range maxWrappers {
		inner := t
		if escaped {
			inner = skipEscapes(t)
		}
		inner = bytes.TrimPrefix(WithoutHole(inner), []byte("\ufeff"))
		if text, head, is := u.json(inner, &w); is {
			if !inJSON {
				w.Head = len(line) - len(t) + head
			}
			inJSON = true
			w.Kind = (w.Kind | wrapJSON) + oneWrapper
			t = text
			escaped = bytes.IndexByte(t, search.Escape) >= 0
			continue
		}
		n, kind := u.prefix(inner, &w)
		if n == 0 {
			break
		}
		w.Kind = (w.Kind | kind) + oneWrapper
		t = inner[n:]
		if escaped {
			t = skipReset(t)
		}
		if !inJSON {
			w.Head = len(line) - len(t)
		}
	}
	if r, ok := loggedRank(t); ok {
		u.rank = r
		w.Kind |= wrapLauncher
	}
	if w.Kind == 0 {
		return w, false
	}
	if u.rank >= 0 {
		u.name([]byte("rank "))
		u.writer = strconv.AppendInt(u.writer, int64(u.rank), 10)
	}
	w.Text, w.Writer = t, u.writer
	return w, true
}

// loggedRank returns the rank that a program prints at the beginning of its lines, as Megatron
// does: "[Rank 3] ". It stays in the text, because dialects may need it.
func loggedRank(t []byte) (rank int, ok bool) {
	rest, ok := lex.CutPrefix(t, "[Rank ")
	if !ok {
		return 0, false
	}
	rank, rest, ok = lex.CutInt(rest)
	return rank, ok && bytes.HasPrefix(rest, []byte("] "))
}

// Unwrapped returns the program's text of a line, see [Unwrapper.Unwrap], without escape
// sequences.
func Unwrapped(line []byte) []byte {
	var u Unwrapper
	if w, ok := u.Unwrap(line); ok {
		line = w.Text
	}
	return PlainText(line)
}

// mayBeWrapped reports whether the first bytes of a line may begin a wrapper. It is fast, and true
// for some lines without one.
func mayBeWrapped(line []byte) bool {
	if len(line) < 3 {
		return false
	}
	switch c := line[0]; c {
	case '{', '(', '<', search.Escape, 0, 0xef:
		return true
	case '[':
		switch c = line[1]; c {
		case 'p', 'r', 'd', 't', 'w', 'a', 'l', 'n', 'R', search.Escape:
			return true
		}
		return lex.IsDigit(c)
	case ' ':
		i := 0
		for i < len(line) && i < 6 && line[i] == ' ' {
			i++
		}
		return i < len(line) && lex.IsDigit(line[i])
	default:
		return lex.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
}

// name appends a part of the writer's name.
func (u *Unwrapper) name(part []byte) {
	if len(u.writer) > 0 {
		u.writer = append(u.writer, ' ')
	}
	u.writer = append(u.writer, part[:min(len(part), maxWriter)]...)
}

// maxWriter is the most bytes of one part of a writer's name.
const maxWriter = 128

// json returns the program's text in a log driver's JSON, and the length of its head. It sets the
// stream of w, and whether the next line continues this one. Only Docker's json-file driver divides
// lines: a long line without "\n" at its end goes on.
func (u *Unwrapper) json(line []byte, w *Wrapping) (text []byte, head int, ok bool) {
	at, docker := jsonText(line)
	if at < 0 {
		return nil, 0, false
	}
	w.Partial, head = false, len(DockerLog)
	if docker {
		head = at
	}
	if i := jsonValue(line, `"stream"`); i >= 0 {
		switch stream := line[i:]; {
		case bytes.HasPrefix(stream, []byte(`stdout"`)):
			w.Stream = 1
		case bytes.HasPrefix(stream, []byte(`stderr"`)):
			w.Stream = 2
		}
	}
	// The line may already be in one of the two buffers.
	u.text, u.spare = u.spare, u.text
	u.text = appendUnquoted(u.text[:0], line[at:])
	text = u.text
	if n := len(text); n > 0 && text[n-1] == '\n' {
		return text[:n-1], head, true
	}
	w.Partial = docker && len(text) >= dockerLine
	return text, head, true
}

// dockerLine is the length of a line at which Docker begins a new one. Source: the constant
// defaultBufSize in moby/moby, daemon/logger/copier.go.
const dockerLine = 16 << 10

// jsonText returns the offset of the program's text in a log driver's JSON, or -1. docker is set if
// the JSON has the form of Docker's json-file driver.
func jsonText(line []byte) (at int, docker bool) {
	if len(line) == 0 || line[0] != '{' {
		return -1, false
	}
	if IsDocker(line) {
		return jsonValue(line, `"log"`), true
	}
	for _, form := range []struct{ key, with, begin string }{
		{`"log"`, `"stream"`, "std"},                // fluentd, Fluent Bit
		{`"MESSAGE"`, `"__REALTIME_TIMESTAMP"`, ""}, // journalctl -o json
	} {
		at = jsonValue(line, form.key)
		with := jsonValue(line, form.with)
		if at >= 0 && with >= 0 && bytes.HasPrefix(line[with:], []byte(form.begin)) {
			return at, false
		}
	}
	return -1, false
}

// jsonValue returns the offset of the string that a key has in JSON, behind its first quote, or -1.
// The key must be given with its quotes. A key inside a string is not found, because its quotes
// have backslashes before them.
func jsonValue(line []byte, key string) int {
	for at := 0; ; {
		i := bytes.Index(line[at:], []byte(key))
		if i < 0 {
			return -1
		}
		at += i + len(key)
		value, ok := bytes.CutPrefix(lex.TrimBlanks(line[at:]), []byte{':'})
		if value = lex.TrimBlanks(value); ok && len(value) > 0 && value[0] == '"' {
			return len(line) - len(value) + 1
		}
	}
}

// prefix returns the length of the one wrapper at the beginning of a text, or 0. It notes the
// writer that the wrapper names.
func (u *Unwrapper) prefix(t []byte, w *Wrapping) (n int, kind WrapKind) {
	if len(t) == 0 {
		return 0, 0
	}
	switch c := t[0]; {
	case c == '[':
		return u.bracket(t)
	case c == '(':
		return u.process(t)
	case c == '<':
		return u.angle(t)
	case lex.IsDigit(c):
		if n = rfc3339(t); n > 0 {
			return u.behindTime(t, n, w)
		}
		if n = foremanName(t); n > 0 {
			name, _, _ := bytes.Cut(t[len("02:00:03 "):n], []byte{' '})
			u.name(name)
			return n, wrapName
		}
		return u.task(t)
	case c == ' ':
		return u.task(t)
	}
	if n, kind = u.syslog(t, false); n > 0 {
		return n, kind
	}
	if n = githubStep(t); n > 0 {
		job, _, _ := bytes.Cut(t, []byte{'\t'})
		u.name(job)
		return n, wrapName
	}
	if n = serviceName(t); n > 0 && !isTableRow(t, n) {
		name, _, _ := bytes.Cut(t[:n], []byte{' '})
		u.name(name)
		return n, wrapName
	}
	if n = hostName(t); n > 0 {
		u.name(t[:n-2])
		return n, wrapName
	}
	if n = sternName(t); n > 0 {
		u.name(t[:n-1])
		return n, wrapName
	}
	return 0, 0
}

// behindTime reads what may follow the time of a log driver: the stream of CRI, the marks of
// GitLab, or the process of journald. The time ends at t[n].
func (u *Unwrapper) behindTime(t []byte, n int, w *Wrapping) (end int, kind WrapKind) {
	rest := t[n:]
	for i, stream := range []string{"stdout ", "stderr "} { // CRI
		if tag, ok := lex.CutPrefix(rest, stream); ok && len(tag) > 1 && tag[1] == ' ' &&
			(tag[0] == 'F' || tag[0] == 'P') {
			w.Partial, w.Stream = tag[0] == 'P', i+1
			return n + len(stream) + 2, wrapTime
		}
	}
	// GitLab: "00O text", or "00O+text" for the rest of a line.
	if len(rest) > 3 && lex.IsDigit(rest[0]) && lex.IsDigit(rest[1]) &&
		(rest[2] == 'O' || rest[2] == 'E') && (rest[3] == ' ' || rest[3] == '+') {
		return n + 4, wrapTime
	}
	if k := u.unit(rest); k > 0 {
		return n + k, wrapSyslog
	}
	return n, wrapTime
}

// rfc3339 returns the length of a time such as "2026-11-20T02:00:03.123Z ", with the blank behind
// it, or 0. A line may end behind the time.
func rfc3339(t []byte) int {
	const form = "0000-00-00T00:00:00"
	if len(t) < len(form) || t[10] != 'T' {
		return 0
	}
	for i := range len(form) {
		if form[i] == '0' && !lex.IsDigit(t[i]) || form[i] != '0' && t[i] != form[i] {
			return 0
		}
	}
	n := len(form)
	if n+1 < len(t) && (t[n] == '.' || t[n] == ',') && lex.IsDigit(t[n+1]) {
		n += 1 + lex.CountDigits(t[n+1:])
	}
	switch {
	case n < len(t) && t[n] == 'Z':
		n++
	case n+5 <= len(t) && (t[n] == '+' || t[n] == '-') && lex.CountDigits(t[n+1:]) == 4:
		n += 5
	case n+6 <= len(t) && (t[n] == '+' || t[n] == '-') && lex.CountDigits(t[n+1:]) == 2 &&
		t[n+3] == ':' && lex.CountDigits(t[n+4:]) == 2:
		n += 6
	}
	switch {
	case n == len(t):
		return n
	case t[n] == ' ' || t[n] == '\t':
		return n + 1
	}
	return 0
}

// skipEscapes returns a text without the escape sequences at its beginning.
func skipEscapes(t []byte) []byte {
	for len(t) > 0 && t[0] == search.Escape {
		t = t[escapeLen(t):]
	}
	return t
}

// skipReset returns a text without the escape sequences at its beginning, and without the one blank
// behind them.
func skipReset(t []byte) []byte {
	rest := skipEscapes(t)
	if len(rest) < len(t) && len(rest) > 0 && rest[0] == ' ' {
		return rest[1:]
	}
	return rest
}
