package source

import (
	"bytes"
	"slices"
	"strconv"

	"vramsoak/parser/lex"
	"vramsoak/parser/search"
)

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
				u.innerRank(r, role != "rank")
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

// innerRank notes the rank of a process. If a launcher around it gave a number already, as srun
// does for each task, that number becomes a part of the process's name: "task 1 rank 3". Two equal
// numbers are one, unless the inner one is local: srun --label torchrun --tee prints 1: [default1]:
// for the second process of the second node, and "0: [default1]:" for that of the first. If such a
// process also prints its global rank, it is "task 1 local 1 rank 5".
func (u *Unwrapper) innerRank(rank int, local bool) {
	if u.rank >= 0 && (local || u.rank != rank) {
		of := "task "
		if u.onNode {
			of = "local "
		}
		u.name(strconv.AppendInt([]byte(of), int64(u.rank), 10))
	}
	u.onNode = local && u.rank >= 0
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
