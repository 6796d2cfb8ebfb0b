package check_test

import (
	"strconv"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// crashedLog is the log of a soak whose second file crashed. The files' cleanups freed all memory.
const crashedLog = `[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2 feed=process command="x {}"
[vramsoak] file-start time=2026-11-20T02:00:00.000Z index=1 path=f1
[GPU Memory] Before Work Cleanup: Allocated: 1.00GB | Total: 24.00GB
[GPU Memory] After Work Cleanup: Allocated: 0.00GB | Total: 24.00GB
[vramsoak] exit time=2026-11-20T02:00:00.900Z pid=1 code=0
[vramsoak] file-end time=2026-11-20T02:00:01.000Z index=1 path=f1 status=ok seconds=1.000
[vramsoak] file-start time=2026-11-20T02:00:01.000Z index=2 path=f2
[GPU Memory] Before Work Cleanup: Allocated: 1.00GB | Total: 24.00GB
[GPU Memory] After Work Cleanup: Allocated: 0.00GB | Total: 24.00GB
[vramsoak] exit time=2026-11-20T02:00:01.900Z pid=2 code=-1 signal=SIGSEGV
[vramsoak] file-end time=2026-11-20T02:00:02.000Z index=2 path=f2 status=crashed seconds=1.000
[vramsoak] run-end time=2026-11-20T02:00:02.000Z files=2 seconds=2.000 reason=done
`

// TestChangedLogDoesNotPass: a log that was changed after it was written must not pass, for example
// because a viewer coloured its lines or somebody pasted them elsewhere.
func TestChangedLogDoesNotPass(t *testing.T) {
	t.Parallel()
	const tag = "[vramsoak]"
	around := func(before, behind string) func(string) string {
		return func(line string) string { return before + line + behind }
	}
	replace := func(old, by string) func(string) string {
		return func(line string) string { return strings.ReplaceAll(line, old, by) }
	}
	only := func(word string, change func(string) string) func(string) string {
		return func(line string) string {
			if strings.Contains(line, word) {
				return change(line)
			}
			return line
		}
	}
	coloured := around("\x1b[31m", "\x1b[0m")
	for name, change := range map[string]func(line string) string{
		"unchanged":                 around("", ""),
		"coloured":                  coloured,
		"a reset before":            around("\x1b[0m", ""),
		"a reset behind":            around("", "\x1b[0m"),
		"a coloured prefix":         replace(tag, "\x1b[36m[vramsoak]\x1b[0m"),
		"a coloured name":           replace(tag, "[\x1b[36mvramsoak\x1b[0m]"),
		"a match that grep colours": replace(tag, "\x1b[01;31m\x1b[K[vramsoak]\x1b[m\x1b[K"),
		"only failures coloured":    only("crashed", coloured),
		"only exits coloured":       only("SIGSEGV", coloured),
		"a link":                    around("\x1b]8;;http://ci\x07", "\x1b]8;;\x07"),
		"a cleared line":            around("\x1b[2K\r", ""),
		"a carriage return before":  around("\r", ""),
		"CRLF":                      around("", "\r"),
		"two carriage returns":      around("", "\r\r"),
		"a blank":                   around(" ", ""),
		"a tab":                     around("\t", ""),
		"a no-break space":          around("\u00a0", ""),
		"blanks behind":             around("", "  "),
		"empty lines between":       around("", "\n"),
		"an emoji":                  around("🚀 ", ""),
		"quoted in an issue":        around("> ", ""),
		"added in a diff":           around("+", ""),
		"in quotes":                 around(`"`, `"`),
		"in a list of quotes":       around(`  "`, `",`),
		"in back quotes":            around("`", "`"),
		"in bold":                   replace(tag, "**[vramsoak]**"),
		"in a table":                around("| ", " |"),
		"a time":                    around("2026-11-20T02:00:00Z ", ""),
		"a time and colours":        around("2026-11-20T02:00:00.0000000Z \x1b[36;1m", "\x1b[0m"),
		"Docker": func(line string) string {
			return `{"log":` + strconv.Quote(line+"\n") + `,"stream":"stdout"}`
		},
		"Docker, coloured": func(line string) string {
			return `{"log":"\u001b[32m` + strings.ReplaceAll(line, `"`, `\"`) +
				`\u001b[0m\n","stream":"stdout"}`
		},
	} {
		var b strings.Builder
		for line := range strings.Lines(crashedLog) {
			b.WriteString(change(strings.TrimSuffix(line, "\n")) + "\n")
		}
		tl, err := parser.Build(parser.Read(strings.NewReader(b.String()), "soak.log"))
		if err != nil {
			t.Fatal(name, err)
		}
		report := check.Of(tl, check.DefaultPolicy())
		if report.Verdict == check.Pass || name == "unchanged" && report.Verdict != check.Fail {
			t.Errorf("%s: got %s, want fail or undecided; unreadable lines %v, notes %q", name,
				report.Verdict,
				tl.Bad, report.Notes)
		}
		for _, note := range report.Notes {
			if strings.Contains(note, "printed by the pipeline") {
				t.Errorf("%s: a note blames the pipeline, which printed nothing: %q", name, note)
			}
		}
	}
}
