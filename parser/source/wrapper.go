package source

import (
	"bytes"
	"path"
	"slices"
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
	rank                int // -1 for none
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
	u.writer, u.rank = u.writer[:0], -1
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

// task reads the number of a task, as in "3: " or " 3: ".
func (u *Unwrapper) task(t []byte) (n int, kind WrapKind) {
	digits := lex.TrimBlanks(t[:min(len(t), 8)])
	blanks := min(len(t), 8) - len(digits)
	k := lex.CountDigits(digits)
	n = blanks + k
	if k == 0 || k > 5 || n+1 >= len(t) || t[n] != ':' || t[n+1] != ' ' {
		return 0, 0
	}
	if u.LineNumbers {
		return n + 2, wrapTime
	}
	u.rank = lex.ParseDigits(digits[:k])
	return n + 2, wrapLauncher
}

// HasLineNumbers reports whether the lines of a log that begins with a text are numbered, as by
// nl. Line numbers begin with 1, and each is one more than the last. Blank lines may have none. The
// ranks of srun begin with 0 and recur.
func HasLineNumbers(head []byte) bool {
	u := Unwrapper{}
	last := 0
	for line := range bytes.Lines(head) {
		switch n, _ := u.task(line); {
		case n > 0 && u.rank == last+1:
			last++
		case n > 0 || len(bytes.TrimSpace(line)) > 0 && line[len(line)-1] == '\n':
			return false
		}
	}
	return last >= numberedLines
}

// numberedLines is how many numbered lines a log must have at its beginning.
const numberedLines = 16

// launcherRoles are the names that launchers put before the number of a process: "[default3]:".
// Of torchrun, they are the values of --role.
var launcherRoles = []string{
	"rank", "default", "trainer", "worker", "actor", "learner", "local_rank", "node", "task", "proc",
	"process",
}

// bracket reads a wrapper that begins with '['.
func (u *Unwrapper) bracket(t []byte) (n int, kind WrapKind) {
	end := bytes.IndexByte(t[:min(len(t), 1+2*maxWriter)], ']')
	if end < 2 {
		return 0, 0
	}
	inside, behind := t[1:end], t[end+1:]
	if len(behind) > 0 && behind[0] != ' ' && behind[0] != ':' && behind[0] != '<' {
		return 0, 0
	}
	if k := outputStream(behind); k > 0 { // [1,3]<stdout>:
		_, rank, _ := bytes.Cut(inside, []byte{','})
		if len(rank) == 0 {
			rank = inside
		}
		rank = bytes.TrimPrefix(rank, []byte("mpirank:"))
		r, rest, ok := lex.CutInt(rank)
		if !ok || len(rest) > 0 && rest[0] != ',' {
			return 0, 0
		}
		if job, _, ok := bytes.Cut(inside, []byte{','}); ok && string(job) != "1" &&
			lex.CountDigits(job) == len(job) {
			u.name(append([]byte("job "), job...))
		}
		u.rank = r
		return end + 1 + k, wrapLauncher
	}
	if len(behind) > 0 && behind[0] == ':' { // [rank3]:
		for _, role := range launcherRoles {
			number, ok := lex.CutPrefix(inside, role)
			if !ok {
				continue
			}
			if r, rest, ok := lex.CutInt(number); ok && len(rest) == 0 {
				u.innerRank(r)
				return end + 2 + ownBlank(behind[1:]), wrapLauncher
			}
		}
		return 0, 0
	}
	if len(behind) == 0 || behind[0] != ' ' {
		return 0, 0
	}
	switch {
	case bytes.HasPrefix(inside, []byte("pod/")): // kubectl logs --prefix
		u.name(inside)
		return end + 2, wrapName
	case lex.IsDigit(inside[0]) && rfc3339(inside) == len(inside): // Jenkins
		return end + 2, wrapTime
	case lex.IsDigit(inside[0]):
		if k := parallelAt(inside); k > 0 { // [2026-11-20 02:00:03 DP0 TP3 EP0]
			u.parallel(inside[k:])
			return end + 2, wrapLauncher
		}
	}
	return 0, 0
}

// innerRank notes the rank of a process. If a launcher around it gave another number already, as
// srun does for each task, that number becomes a part of the process's name: "task 1 rank 3".
func (u *Unwrapper) innerRank(rank int) {
	if u.rank >= 0 && u.rank != rank {
		u.name(strconv.AppendInt([]byte("task "), int64(u.rank), 10))
	}
	u.rank = rank
}

// outputStream returns the length of "<stdout>:" or "<stderr>:", with a blank behind it, at the
// beginning of a text.
func outputStream(t []byte) int {
	if len(t) == 0 || t[0] != '<' {
		return 0
	}
	for _, name := range []string{"<stdout>:", "<stderr>:", "<stddiag>:"} {
		if rest, ok := lex.CutPrefix(t, name); ok {
			return len(name) + ownBlank(rest)
		}
	}
	return 0
}

// ownBlank returns 1 if the launcher put a blank before the program's text, else 0. Some versions
// of mpirun do, and torchrun does not. The indentation of programs has an even number of blanks.
func ownBlank(t []byte) int {
	return (len(t) - len(bytes.TrimLeft(t, " "))) % 2
}

// parallelAt returns the offset in "2026-11-20 02:00:03 DP0 TP3 EP0" behind the time, or 0.
func parallelAt(inside []byte) int {
	const date = len("2026-11-20 02:00:03 ")
	if len(inside) <= date || inside[4] != '-' || inside[date-1] != ' ' {
		return 0
	}
	for field := range bytes.FieldsSeq(inside[date:]) {
		if _, _, ok := parallelRank(field); !ok {
			return 0
		}
	}
	return date
}

// parallelRank reads one rank of a kind of parallelism: "TP3".
func parallelRank(field []byte) (kind []byte, rank int, ok bool) {
	i := bytes.IndexAny(field, "0123456789")
	if i < 2 {
		return nil, 0, false
	}
	switch string(field[:i]) {
	case "DP", "TP", "PP", "EP", "CP", "SP", "PCP", "DCP":
	default:
		return nil, 0, false
	}
	rank, rest, ok := lex.CutInt(field[i:])
	return field[:i], rank, ok && len(rest) == 0
}

// parallel notes the ranks of several kinds of parallelism: "DP0 TP3 EP0". One kind alone is the
// rank. Several together are the writer's name. The rank in expert parallelism (EP) does not count,
// because it repeats another rank.
func (u *Unwrapper) parallel(ranks []byte) {
	fields := bytes.Fields(ranks)
	if len(fields) > 1 {
		fields = slices.DeleteFunc(fields, func(f []byte) bool { return f[0] == 'E' })
	}
	if len(fields) == 1 {
		_, u.rank, _ = parallelRank(fields[0])
		return
	}
	u.name(bytes.Join(fields, []byte{' '}))
}

// process reads the name of a process in parentheses, as vLLM and Ray print it: "(train pid=7) ".
func (u *Unwrapper) process(t []byte) (n int, kind WrapKind) {
	end := bytes.IndexByte(t[:min(len(t), maxWriter)], ')')
	if end < 0 || end+1 < len(t) && t[end+1] != ' ' && t[end+1] != search.Escape {
		return 0, 0
	}
	inside := t[1:end]
	i := bytes.Index(inside, []byte("pid="))
	if i < 0 || i > 0 && inside[i-1] != ' ' || i+4 == len(inside) || !lex.IsDigit(inside[i+4]) {
		return 0, 0
	}
	n = end + 1 + min(1, len(t)-end-1-len(bytes.TrimPrefix(t[end+1:], []byte(" "))))
	if before, number, ok := bytes.Cut(inside[:i], []byte("rank=")); ok { // (VllmWorker rank=1 pid=7)
		if r, _, ok := lex.CutInt(number); ok && len(bytes.TrimSpace(before)) > 0 {
			u.rank = r
			return n, wrapLauncher
		}
	}
	name := bytes.TrimSpace(inside[:i])
	if _, ranks, ok := bytes.Cut(name, []byte{'_'}); ok { // Worker_DP0_TP3
		ranks = bytes.ReplaceAll(ranks, []byte{'_'}, []byte{' '})
		all := len(ranks) > 0
		for field := range bytes.FieldsSeq(ranks) {
			_, _, is := parallelRank(field)
			all = all && is
		}
		if all {
			u.parallel(ranks)
			return n, wrapLauncher
		}
	}
	u.name(bytes.ReplaceAll(inside, []byte{','}, nil))
	return n, wrapLauncher
}

// angle reads a wrapper that begins with '<': "<stdout>: " of mpirun, "<13>" of syslog.
func (u *Unwrapper) angle(t []byte) (n int, kind WrapKind) {
	if n = outputStream(t); n > 0 {
		return n, wrapLauncher
	}
	k := lex.CountDigits(t[1:])
	if k == 0 || k > 3 || len(t) < k+3 || t[k+1] != '>' {
		return 0, 0
	}
	n = k + 2
	version, rest, _ := bytes.Cut(t[n:], []byte{' '})
	if len(version) == 1 && version[0] == '1' { // RFC 5424: <13>1 TIME HOST APP PID MSGID - text
		at := n + 2
		time := rfc3339(rest)
		if time == 0 {
			return 0, 0
		}
		rest, at = rest[time:], at+time
		var fields [4][]byte
		for i := range fields {
			var ok bool
			if fields[i], rest, ok = bytes.Cut(rest, []byte{' '}); !ok {
				return 0, 0
			}
			at += len(fields[i]) + 1
		}
		switch {
		case bytes.HasPrefix(rest, []byte("- ")):
			at += 2
		case bytes.HasPrefix(rest, []byte("[")) && bytes.Contains(rest, []byte("] ")):
			at += bytes.Index(rest, []byte("] ")) + 2
		default:
			return 0, 0
		}
		u.name(bytes.Join(fields[:3], []byte{' '}))
		return at, wrapSyslog
	}
	if k, kind := u.syslog(t[n:], true); k > 0 {
		return n + k, kind
	}
	return 0, 0
}

// syslog reads the time of syslog with the process behind it: "Nov 20 02:00:03 gpu1 asr[47]: ".
// The process may be missing, as in the output of ts. Its number may be missing too, see
// [Unwrapper.tag]. With a weekday and a year, the time is that of mpirun --timestamp-output, which
// has no blank behind it. Set priority if a priority such as "<13>" precedes the time.
func (u *Unwrapper) syslog(t []byte, priority bool) (n int, kind WrapKind) {
	if isWeekday(t) {
		const form = "Fri Nov 20 02:00:03 2026"
		if len(t) > len(form) && isSyslogTime(t[4:]) && lex.CountDigits(t[20:]) == 4 &&
			(t[len(form)] == '[' || t[len(form)] == '<') {
			return len(form), wrapTime
		}
		return 0, 0
	}
	const form = "Nov 20 02:00:03"
	if !isSyslogTime(t) {
		return 0, 0
	}
	n = len(form)
	if n < len(t) && t[n] == '.' {
		n += 1 + lex.CountDigits(t[n+1:])
	}
	if n >= len(t) || t[n] != ' ' {
		return 0, 0
	}
	n++
	if k := u.unit(t[n:]); k > 0 {
		return n + k, wrapSyslog
	}
	if k := u.tag(t[n:], priority); k > 0 {
		return n + k, wrapSyslog
	}
	return n, wrapTime
}

func isWeekday(t []byte) bool {
	return len(t) > 4 && t[3] == ' ' &&
		bytes.Contains([]byte("Mon Tue Wed Thu Fri Sat Sun "), t[:4])
}

// isSyslogTime reports whether a text begins like "Nov 20 02:00:03".
func isSyslogTime(t []byte) bool {
	const form = "Nov 20 02:00:03"
	if len(t) < len(form) || t[3] != ' ' ||
		!bytes.Contains([]byte("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec "), t[:4]) {
		return false
	}
	for i, c := range []byte(form[4:]) {
		switch got := t[4+i]; {
		case i == 0 && got == ' ':
		case lex.IsDigit(c) && !lex.IsDigit(got), !lex.IsDigit(c) && got != c:
			return false
		}
	}
	return true
}

// unit returns the length of "gpu1 whisper[4711]: ", the host and the process of a line of syslog,
// or 0. It notes the writer. The host may be missing.
func (u *Unwrapper) unit(t []byte) int {
	head := t[:min(len(t), 2*maxWriter)]
	colon := bytes.Index(head, []byte(": "))
	if colon < 1 {
		return 0
	}
	name := head[:colon]
	host, process, has := bytes.Cut(name, []byte{' '})
	if !has {
		process = name
	}
	number := bytes.IndexByte(process, '[')
	if number < 1 || process[len(process)-1] != ']' || !isToken(process[:number]) ||
		!isToken(process[number+1:len(process)-1]) || has && !isToken(host) {
		return 0
	}
	u.name(name)
	return colon + 2
}

// tag returns the length of "n1 run.sh: ", the host and the program of a line of syslog without the
// process's number, or 0. It notes the writer, unless that is the kernel, which writes about other
// processes. A message may look like this: ts prints "Nov 20 02:00:03 Peak memory: 3 GB". So only
// the names of known programs and of scripts count, or any name if a priority precedes the time.
func (u *Unwrapper) tag(t []byte, priority bool) int {
	name, _, ok := bytes.Cut(t[:min(len(t), 2*maxWriter)], []byte(": "))
	host, program, has := bytes.Cut(name, []byte{' '})
	if !ok || !has || !isToken(host) || !isToken(program) || !priority && !isProgram(program) {
		return 0
	}
	if string(program) != "kernel" {
		u.name(name)
	}
	return len(name) + 2
}

// isProgram reports whether a name can only be that of a program: "run.sh", "/opt/asr/run",
// "python3.11".
func isProgram(name []byte) bool {
	switch string(bytes.TrimRight(name, ".0123456789")) {
	case "kernel", "python", "bash", "sh", "torchrun", "srun", "slurmstepd":
		return true
	}
	switch path.Ext(string(name)) {
	case ".sh", ".py", ".pl", ".rb", ".jl", ".R", ".js":
		return true
	}
	return name[0] == '/'
}

// isToken reports whether a text is the name of a host or of a program. It returns false for the
// level of a logger.
func isToken(b []byte) bool {
	for _, c := range b {
		if !lex.IsWordByte(c) && c != '-' && c != '.' && c != '/' && c != '@' {
			return false
		}
	}
	return len(b) > 0 && !lex.IsLevel(b)
}

// foremanName returns the length of "02:00:03 web.1  | ", which foreman and honcho print, or 0.
func foremanName(t []byte) int {
	const form = "02:00:03 "
	if len(t) < len(form)+4 || t[2] != ':' || t[5] != ':' || t[8] != ' ' || !lex.IsDigit(t[7]) {
		return 0
	}
	if n := serviceName(t[len(form):]); n > 0 {
		return len(form) + n
	}
	return 0
}

// serviceName returns the length of "worker-1  | ", the name of a service of docker compose, or 0.
// A name counts only if it ends with a digit or two blanks precede the bar. Otherwise it may be the
// first column of a table. The names of devices, counters and levels do not count.
func serviceName(t []byte) int {
	n := 0
	for n < len(t) && n < maxWriter && (lex.IsWordByte(t[n]) || t[n] == '-' || t[n] == '.' ||
		t[n] == '@') {
		n++
	}
	if n == 0 || lex.IsDigit(t[0]) {
		return 0
	}
	name := t[:n]
	bar := n
	for bar < len(t) && t[bar] == ' ' {
		bar++
	}
	if bar == n || bar >= len(t) || t[bar] != '|' || isCounter(name) {
		return 0
	}
	if !lex.IsDigit(name[n-1]) && (bar < n+2 || t[0] < 'a' || t[0] > 'z') {
		return 0
	}
	after := skipEscapes(t[bar+1:])
	if len(after) > 0 && after[0] != ' ' {
		return 0
	}
	end := len(t) - len(after)
	return end + min(1, len(after))
}

// isTableRow reports whether a line that begins like one of docker compose is the row of a table.
// The parameter n is the length of serviceName. In a row, several cells follow the name, and one of
// them is a size or one word:
//
//	resnet50  | Conv2d | 97 MiB
//
// A message may have bars too. It counts as one if it has a logger's prefix, or begins with a bar,
// or if the name is that of a container, "worker-1" or "asr.1.x2k4@gpu1".
func isTableRow(t []byte, n int) bool {
	name, _, _ := bytes.Cut(t[:n], []byte{' '})
	text := bytes.TrimSpace(skipEscapes(t[n:]))
	first, _, ok := bytes.Cut(text, []byte(" | "))
	if !ok || lex.LevelAt(text) > 0 || LoggerEnd(text) > 0 || bytes.Contains(first, []byte("%|")) ||
		bytes.IndexByte([]byte("|+[{"), text[0]) >= 0 || bytes.IndexByte(name, '@') >= 0 {
		return false
	}
	if before := bytes.TrimRight(name, "0123456789"); len(before) < len(name) &&
		(bytes.HasSuffix(before, []byte{'-'}) || bytes.HasSuffix(before, []byte{'_'})) {
		return false
	}
	for cell := range bytes.SplitSeq(text, []byte{'|'}) {
		if cell = bytes.TrimSpace(cell); bytes.IndexByte(cell, ' ') < 0 || isSize(cell) {
			return true
		}
	}
	return false
}

// isSize reports whether a text is a size and nothing else.
func isSize(text []byte) bool {
	_, rest, ok := lex.CutSize(text, 0)
	return ok && len(rest) == 0
}

// isCounter reports whether a name is that of a device, a counter or a level, such as "gpu0" or
// "epoch3".
func isCounter(name []byte) bool {
	letters := bytes.ToLower(bytes.TrimRight(name, "0123456789-_.:"))
	switch string(letters) {
	case "gpu", "cuda", "device", "dev", "l", "line", "row", "epoch",
		"step", "iter", "iteration", "batch", "layer",
		"rank", "train", "val", "eval", "test", "loss", "total", "stage", "phase", "file", "name",
		"level":
		return true
	}
	return lex.IsLevel(letters)
}

// hostName returns the length of "node1: ", the name of a host that pdsh and clush print, or 0.
func hostName(t []byte) int {
	for _, kind := range []string{
		"node", "host", "worker", "compute", "ip-", "task", "server", "vm-",
	} {
		if !bytes.HasPrefix(t, []byte(kind)) {
			continue
		}
		n := bytes.Index(t[:min(len(t), maxWriter/2)], []byte(": "))
		if n > 1 && lex.IsDigit(t[n-1]) && isToken(t[:n]) {
			return n + 2
		}
		return 0
	}
	return 0
}

// sternName returns the length of "asr-6d5f7c9b8-xk2lp main ", the names of a pod of a Deployment
// and of its container that stern prints, or 0.
func sternName(t []byte) int {
	pod, rest, ok := bytes.Cut(t[:min(len(t), 2*maxWriter)], []byte{' '})
	n := len(pod)
	if !ok || n < 16 || pod[n-6] != '-' || bytes.ContainsAny(pod, "_.@/") || !isToken(pod) {
		return 0
	}
	hash := pod[bytes.LastIndexByte(pod[:n-6], '-')+1 : n-6] // of the ReplicaSet
	container, _, ok := bytes.Cut(rest, []byte{' '})
	if !ok || len(hash) < 8 || len(hash) > 10 || len(bytes.Trim(hash, podLetters)) > 0 ||
		len(bytes.Trim(pod[n-5:], podLetters)) > 0 || !isToken(container) || len(container) > 63 {
		return 0
	}
	return n + len(container) + 2
}

// podLetters are the letters of the random parts of a pod's name. Source: the constant alphanums in
// kubernetes/apimachinery, pkg/util/rand/rand.go.
const podLetters = "bcdfghjklmnpqrstvwxz2456789"

// githubStep returns the length of the names of a job and a step that "gh run view --log" prints
// before a time, or 0. Tabs separate them.
func githubStep(t []byte) int {
	head := t[:min(len(t), 2*maxWriter)]
	first := bytes.IndexByte(head, '\t')
	if first <= 0 {
		return 0
	}
	second := bytes.IndexByte(head[first+1:], '\t')
	if second <= 0 {
		return 0
	}
	n := first + 1 + second + 1
	if rfc3339(bytes.TrimPrefix(t[n:], []byte("\ufeff"))) == 0 {
		return 0
	}
	return n
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
