package source

import (
	"bytes"

	"vramsoak/parser/lex"
)

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
