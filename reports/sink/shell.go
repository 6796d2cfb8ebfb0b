package sink

import "strings"

// Shell returns text as one word of a shell's command line.
func Shell(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+:,@%", r)
	}
	switch {
	case s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }):
		return s
	case Line(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	// bash, zsh and POSIX.1-2024 have $'...', which knows the escapes of Line.
	return "$'" + Line(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s)) + "'"
}
