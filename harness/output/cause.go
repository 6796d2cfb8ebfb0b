package output

import (
	"regexp"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// cause returns the line in which a program says why it ended, shortened. It finds lines of known
// forms, such as the end of a Python traceback. If there are several, cause returns the last: a
// program may handle one error and then raise another that ends it. If there are none, cause
// returns the last line of the program if fallback is set, else "".
func cause(lines []string, fallback bool) string {
	reason := ""
	for i := 0; i < len(lines); i++ {
		next, found, ok := exception(lines, i)
		if ok {
			i = next
		} else {
			found = abortReason(lines, i)
		}
		if found != "" && (reason == "" || !secondHand.MatchString(found)) {
			reason = found
		}
	}
	if reason == "" {
		for _, line := range lines {
			if m := errorLine.FindString(line); m != "" {
				reason = m
			}
		}
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		// Lines that hold events or checkpoints, or that look like the harness's lines, never say why a
		// program ended.
		has := func(mark string) bool { return strings.Contains(line, mark) }
		return slices.ContainsFunc(marks, has)
	})
	if reason == "" && fallback && len(lines) > 0 {
		reason = lines[len(lines)-1]
		if len(lines) > 1 && usage.MatchString(reason) {
			reason = lines[len(lines)-2]
		}
	}
	return lex.Shorten(strings.TrimSpace(reason), causeMax)
}

var marks = []string{record.HarnessPrefix + " ", record.ProtocolPrefix + " ", "[GPU Memory] "}

const traceback = "Traceback (most recent call last)"

// atExit matches the line that Python prints before the traceback of an exception that came up
// while Python was shutting down.
var atExit = regexp.MustCompile(`Exception ignored in|Error in atexit\._run_exitfuncs`)

// exception reads the Python traceback that begins at the line with index at. It returns in end and
// found the index and the text of the traceback's last line, which names the exception:
//
//	[rank0]: Traceback (most recent call last):
//	[rank0]:   File "/app/transcribe.py", line 3, in <module>
//	[rank0]:     import whisper
//	[rank0]: ModuleNotFoundError: No module named 'whisper'
//
// Some programs put a prefix such as [rank0] before the first line only. ok is false if no
// traceback begins at the line. An exception that Python reports while it shuts down did not end
// the process; found is "" then:
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
		if at > 0 && atExit.MatchString(lines[at-1]) {
			line = ""
		}
		return end, line, true
	}
	return at, "", true // the end of the traceback is missing
}

var (
	// raised matches the last line of a Python traceback whose beginning is missing, or the line of an
	// exception in Java, JavaScript or C#:
	//
	//	2026-11-20 02:00:00,123 ERROR root: ValueError: bad header
	//	Exception in thread "main" java.lang.IllegalStateException: no model
	raised = regexp.MustCompile(`(?:^|[\s:|\]>])` +
		`((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?)$`)
	// aborted matches the lines that runtimes and libraries print when they abort.
	aborted = regexp.MustCompile(`(?:^|[\s:|\]>])(` + strings.Join([]string{
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
	// errorLine matches error messages that neither raised nor aborted matches, such as "Error: ..."
	// or "FATAL ...".
	errorLine = regexp.MustCompile(`(?:^|[\s\[|])` +
		`(?:(?:[Ee]rror|[Ff]atal(?: error)?)(?:\[\w+\])?: .+|(?:ERROR|FATAL|CRITICAL)\b.+)$`)
)

// abortReason returns the reason that the line with index at gives for the end of a program, or ""
// if the line gives none. Sometimes the reason continues on the next line, which abortReason then
// adds:
//
//	terminate called after throwing an instance of 'std::runtime_error'
//	  what():  cannot load the model
//	thread 'main' panicked at src/main.rs:4:5:
//	index out of bounds: the len is 3 but the index is 5
func abortReason(lines []string, at int) string {
	line := lines[at]
	if m := raised.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	m := aborted.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	reason, next := m[1], ""
	if at+1 < len(lines) {
		next = strings.TrimSpace(lines[at+1])
	}
	what, isWhat := strings.CutPrefix(next, "what():")
	switch {
	case isWhat:
		return reason + ": " + strings.TrimSpace(what)
	case strings.HasSuffix(reason, ":") && next != "":
		return reason + " " + next
	}
	return reason
}

// usage matches the second of these lines, a hint that programs print after an error message:
//
//	sleep: invalid time interval 'audio/0001.wav'
//	Try 'sleep --help' for more information.
var usage = regexp.MustCompile(`^(?:[Tt]ry|[Rr]un|[Ss]ee|[Uu]se|[Ff]or more) .*(?:-h\b|help)`)

// secondHand matches lines in which a shell or a launcher reports that another program failed. Such
// a line does not say why the program failed.
var secondHand = regexp.MustCompile(
	`^(?:(?:\w+\.)*(?:ChildFailedError|SystemExit)\b|Aborted|Killed|Segmentation fault)`)
