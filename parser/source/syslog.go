package source

import (
	"bytes"
	"path"

	"vramsoak/parser/lex"
)

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
