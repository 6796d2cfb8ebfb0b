package harness

import (
	"regexp"
	"slices"
	"strings"

	"vramsoak/parser"
)

// cause returns the line in which a program says why it ends, shortened; "" where no line does. Of
// several the last counts: a program that handles an error and raises another prints the one that
// ended it last. Where the program says nothing that is known, fallback has its last line taken.
func cause(lines []string, fallback bool) string {
	word := ""
	for i := 0; i < len(lines); i++ {
		if next, found, ok := exception(lines, i); ok {
			i = next
			if found != "" && (word == "" || !reported.MatchString(found)) {
				word = found
			}
			continue
		}
		found := lastWords(lines, i)
		if found != "" && (word == "" || !reported.MatchString(found)) {
			word = found
		}
	}
	if word == "" {
		for _, line := range lines {
			if m := complaint.FindString(line); m != "" {
				word = m
			}
		}
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		// An event or a checkpoint is no reason, nor is a line in the harness's name.
		return slices.ContainsFunc(protocol, func(mark string) bool { return strings.Contains(line, mark) })
	})
	if word == "" && fallback && len(lines) > 0 {
		word = lines[len(lines)-1]
		if len(lines) > 1 && usage.MatchString(word) {
			word = lines[len(lines)-2]
		}
	}
	return shortenLine(strings.TrimSpace(word))
}

var protocol = []string{parser.HarnessPrefix + " ", parser.ProtocolPrefix + " ", "[GPU Memory] "}

func shortenLine(line string) string {
	if len(line) > lastLineMax {
		line = strings.ToValidUTF8(line[:lastLineMax], "") + "..."
	}
	return line
}

const traceback = "Traceback (most recent call last)"

// atEnd matches the line before a traceback that Python prints while it shuts down.
var atEnd = regexp.MustCompile(`Exception ignored in|Error in atexit\._run_exitfuncs`)

// exception reads Python's traceback that begins at a line, and returns its last line and the
// exception:
//
//	[rank0]: Traceback (most recent call last):
//	[rank0]:   File "/app/transcribe.py", line 3, in <module>
//	[rank0]:     import whisper
//	[rank0]: ModuleNotFoundError: No module named 'whisper'
//
// A logger's prefix is before the first line alone. An exception that Python reports while it shuts
// down is not why the process ended:
//
//	Exception ignored in: <function _releaseLock at 0x7f3a>
//	Traceback (most recent call last):
func exception(lines []string, at int) (end int, found string, ok bool) {
	prefix, _, ok := strings.Cut(lines[at], traceback)
	if !ok {
		return at, "", false
	}
	for end = at + 1; end < len(lines); end++ {
		line := strings.TrimPrefix(lines[end], prefix)
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		if at > 0 && atEnd.MatchString(lines[at-1]) {
			line = ""
		}
		return end, line, true
	}
	return at, "", true // torn: its end is missing
}

var (
	// raised is the end of a traceback whose beginning is missing, or of an exception of Java,
	// JavaScript or C#:
	//
	//	2026-11-20 02:00:00,123 ERROR root: ValueError: bad header
	//	Exception in thread "main" java.lang.IllegalStateException: no model
	raised = regexp.MustCompile(`(?:^|[\s:|\]>])` +
		`((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?)$`)
	// dying matches the lines that runtimes and libraries print when they abort.
	dying = regexp.MustCompile(`(?:^|[\s:|\]>])(` + strings.Join([]string{
		`panic: .+`,       // Go
		`fatal error: .+`, // Go, compilers
		`thread '[^']*' (?:\(\d+\) )?panicked at .+`, // Rust
		`terminate called .+`,                        // C++, libstdc++
		`libc\+\+abi: terminating.*`,                 // C++, libc++
		`\S+: \S+:\d+: .*: Assertion .* failed\.?`,   // C
		`(?:free|malloc|realloc|munmap_chunk)\(\): \S.*`,
		`double free or corruption.*`,
		`\*\*\* stack smashing detected \*\*\*.*`,
		`==\d+==\s*ERROR: \w+Sanitizer: .+`,
		`Fatal Python error: .+`,
		`Segmentation fault.*`,
		`Memory access fault by GPU .+`,
		`[A-Z_]*ASSERT\S* failed.*`, // ggml
		`\S+: error while loading shared libraries: .+`,
		`Killed$`, `Aborted(?: \(core dumped\))?$`, // a shell's
	}, "|") + `)$`)
	// complaint is a line of an error message of a program's own.
	complaint = regexp.MustCompile(`(?:^|[\s\[|])` +
		`(?:(?:[Ee]rror|[Ff]atal(?: error)?)(?:\[\w+\])?: .+|(?:ERROR|FATAL|CRITICAL)\b.+)$`)
)

// lastWords returns the reason that a line, with the line after it, gives for a program's end, or
// "" if it gives none.
//
//	terminate called after throwing an instance of 'std::runtime_error'
//	  what():  cannot load the model
//	thread 'main' panicked at src/main.rs:4:5:
//	index out of bounds: the len is 3 but the index is 5
func lastWords(lines []string, at int) string {
	line := lines[at]
	if m := raised.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	m := dying.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	word, next := m[1], ""
	if at+1 < len(lines) {
		next = strings.TrimSpace(lines[at+1])
	}
	what, isWhat := strings.CutPrefix(next, "what():")
	switch {
	case isWhat:
		return word + ": " + strings.TrimSpace(what)
	case strings.HasSuffix(word, ":") && next != "":
		return word + " " + next
	}
	return word
}

// usage matches the hint that programs print below their error:
//
//	sleep: invalid time interval 'audio/0001.wav'
//	Try 'sleep --help' for more information.
var usage = regexp.MustCompile(`^(?:[Tt]ry|[Rr]un|[Ss]ee|[Uu]se|[Ff]or more) .*(?:-h\b|help)`)

// reported matches words that only report the failure of another program, such as a shell's or a
// launcher's. They give no reason of their own.
var reported = regexp.MustCompile(
	`^(?:(?:\w+\.)*(?:ChildFailedError|SystemExit)\b|Aborted|Killed|Segmentation fault)`)
