package dialect

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// crashDialect is the death of a program, in the words of Python, of CUDA's libraries, of the
// runtimes of C++ and Go, of shells, Slurm and the kernel:
//
//	Traceback (most recent call last):
//	  File "run.py", line 7, in <module>
//	    work()
//	RuntimeError: CUDA error: an illegal memory access was encountered
//
//	./run.sh: line 3:  4711 Segmentation fault      (core dumped) python run.py
//	terminate called after throwing an instance of 'c10::Error'
//	panic: runtime error: index out of range [3] with length 3
//	[12345.678901] Out of memory: Killed process 4711 (python) total-vm:8388608kB, anon-rss:7340032kB
//
// A program that catches an exception may print the same. So the words are a crash only at the end
// of a log: see [parser.Builder]. An allocation that failed on the device is an
// [record.OutOfMemory], and an interrupt from the keyboard is no crash.
var crashDialect = scan.Dialect{
	Name: "crash",
	Needles: slices.Concat(
		[]string{string(tracebackWords), "INTERNAL ASSERT FAILED at ", "Detected ", "DUE TO TIME LIMIT"},
		deathWords, abortWords, deviceErrors),
	Read: func(l *scan.Line, at int) int {
		text := l.Text[at:]
		begins := func(word string) bool { return bytes.HasPrefix(text, []byte(word)) }
		switch {
		case begins(string(tracebackWords)):
			return readTraceback(l, at)
		case begins("Detected "):
			if !oomKill().Match(text) {
				return 0
			}
		case begins("DUE TO TIME LIMIT"):
			if !bytes.Contains(l.Text[:at], []byte("slurmstepd: ")) {
				return 0
			}
		case slices.ContainsFunc(abortWords, begins):
			if !beginsMessage(l, at) {
				return 0
			}
		case slices.ContainsFunc(deathWords, begins):
			if !isDeath(l, at) {
				return 0
			}
		case !isDeviceError(l, at):
			return 0
		}
		addCrash(l, at, record.Crash{Text: l.Message(source.MessageStart(l.Text[:at]))})
		return at + 1 // what else is in the line is left to others
	},
}

const cudaError = "CUDA error: "

var (
	tracebackWords = []byte("Traceback (most recent call last)")
	// deathWords are a shell's for a signal, or the kernel's.
	deathWords = []string{"Segmentation fault", "Killed", "Aborted", "Bus error"}
	// abortWords begin a message.
	abortWords = []string{
		"Fatal Python error: ",
		"terminate called after throwing an instance of '",
		"panic: ",
		"GGML_ASSERT: ",
		"thread 'main' panicked at ",
		"double free or corruption (",
		"zsh: segmentation fault ",
		"zsh: killed ",
	}
	// deviceErrors are, or begin, those after which a process can use the device no more.
	deviceErrors = []string{
		cudaError, "an illegal memory access was encountered", "CUBLAS_STATUS_NOT_INITIALIZED",
		"CUBLAS_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_EXECUTION_FAILED",
	}
	lastError = lex.Expression(
		`^CUDA error: (?:device-side assert triggered|unspecified launch failure|` +
			`an illegal instruction was encountered|misaligned address|uncorrectable ECC error encountered)`,
	)

	// oomKill is Slurm's "Detected 1 oom-kill event(s) in StepId=7.batch.", in later versions
	// "oom_kill event".
	oomKill = lex.Expression(`^Detected \d+ oom[-_]kill event`)
	// inShell is what a shell, make or Slurm puts before the words for a signal.
	inShell = lex.Expression(
		`^(?:[^\s:]{1,200}: line \d{1,7}: +\d+ +|make(?:\[\d+\])?: \*\*\* \[[^\]]*\] |` +
			`srun: error: [^\s:]+: tasks? [\d,-]+: )$`,
	)
	// ofMonitor is a command that only watches or waits, and is killed when the work is done:
	//
	//	./run.sh: line 12:  4711 Killed                  nvidia-smi dmon -s u > gpu.csv
	ofMonitor = lex.Expression(`^Killed +` +
		`(?:nvidia-smi|rocm-smi|dcgmi|gpustat|nvitop|nvtop|vmstat|dstat|tail|sleep) `)
	// ofProcess is what marks the process of several that prints a line, where messageStart leaves it;
	// see [source.speakerMark].
	ofProcess = lex.Expression(`^(?:[a-z][\w.-]*\d\s+\|\s*|\([\w ]+pid=\d+\)\s*|<std(?:err|out)>:\s?)`)
	// bareDeath is behind the words for a signal where the line has nothing else.
	bareDeath = lex.Expression(`^(?:: \d+| \(\d+\))?\s*(?:\(core dumped\))?\s*$`)
)

// addCrash adds a crash whose words are at an offset of the line.
func addCrash(l *scan.Line, at int, c record.Crash) {
	c.Header = l.Header(at)
	c.Lane.Rank = rankBefore(l.Text[:at])
	l.Add(c)
}

// beforeWords returns what the line has before the words at an offset, without what loggers put
// there.
func beforeWords(l *scan.Line, at int) []byte {
	before := l.Text[source.MessageStart(l.Text[:at]):at]
	return before[len(ofProcess().Find(before)):]
}

// beginsMessage reports whether a message begins at an offset of the line.
func beginsMessage(l *scan.Line, at int) bool {
	if isTranscript(l.Text[:at]) {
		return false
	}
	return len(beforeWords(l, at)) == 0
}

// isDeath reports whether the words for a signal at an offset say that a process died by it.
func isDeath(l *scan.Line, at int) bool {
	if isTranscript(l.Text[:at]) {
		return false
	}
	before, rest := beforeWords(l, at), l.Text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("Killed process ")):
		return bytes.HasSuffix(before, []byte("ut of memory: "))
	case inShell().Match(before):
		return !ofMonitor().Match(rest)
	case isIndented(l.Text): // as text that a speech model heard is printed
		return false
	}
	word := slices.IndexFunc(
		deathWords,
		func(w string) bool { return bytes.HasPrefix(rest, []byte(w)) },
	)
	return len(before) == 0 && bareDeath().Match(rest[len(deathWords[word]):])
}

// isDeviceError reports whether the words at an offset are the message of an error that ends all
// work on the device. The last line of a traceback is the traceback's.
func isDeviceError(l *scan.Line, at int) bool {
	before, rest := l.Text[:at], l.Text[at:]
	if bytes.HasPrefix(rest, []byte(cudaError)) && !lastError().Match(rest) {
		return false
	}
	if source.IsQuoted(l.Text, at) || source.InSource(before) || isSpokenOf(l.Text, at) ||
		isIndented(l.Text) {
		return false
	}
	for _, word := range []string{"continuing", "retry"} {
		if bytes.Contains(rest[:min(len(rest), 256)], []byte(word)) {
			return false
		}
	}
	if above, _ := l.TracebackAbove(); above > 0 {
		return false
	}
	return !hasLevel(before) || !logsOn(l, l.End)
}

func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }

// exceptionName is the name of an exception, as the last line of a traceback begins with it. Where
// several processes print into one another, only usualName is sure.
var (
	exceptionName = lex.Expression(`^[A-Za-z_][\w.<>]*(?:$|:)`)
	usualName     = lex.Expression(`^[A-Za-z_][\w.<>]*(?:Error|Exception|Interrupt|Exit)(?:$|:)`)
)

// readTraceback reads a traceback of Python, or of rich, which draws a box:
//
//	╭─────── Traceback (most recent call last) ───────╮
//
// Of tracebacks in a chain the last one says what ended the program.
func readTraceback(l *scan.Line, at int) (end int) {
	head := l.Text[at+len(tracebackWords):]
	prefix, _, rich := bytes.Cut(l.Text[:at], []byte("╭"))
	switch {
	case !rich && string(bytes.TrimSpace(head)) != ":", isTranscript(l.Text[:at]):
		return 0
	case isHarmless(l), at > 0 && len(lex.TrimBlanks(l.Text[:at])) == 0: // one that is shown again
		return 0
	}
	prefix = slices.Clone(bytes.TrimSuffix(prefix, []byte("Original ")))
	c := record.Crash{Text: l.Message(at)}
	from, name := l.End, exceptionName()
	for n := range scan.TracebackMax {
		text, start, stop, ok := l.Below(from)
		if !ok || start-l.End > source.Margin {
			break
		}
		switch again := bytes.Contains(text, tracebackWords); {
		case again && n == 0: // of another process; the last one is read
			return 0
		case bytes.HasPrefix(lex.TrimBlanks(text), record.HarnessPrefixBytes):
			return 0
		case again:
			name = usualName()
		}
		text, from = withoutPrefix(text, prefix), stop
		if len(lex.TrimBlanks(text)) == 0 || isIndented(text) || isFrame(text) {
			continue
		}
		if name.Match(text) {
			text = bytes.TrimSpace(text[:min(len(text), 400)])
			c.Text = lex.Shorten(strings.ToValidUTF8(string(text), "�"), 300)
			c.Traceback = l.LineEnds(l.End, start)
			break
		}
		name = usualName()
	}
	before, _ := l.Previous(1)
	logged := hasLevel(prefix) || hasLevel(before)
	if isInterrupt(c.Text) || ranOutOfMemory(c.Text) || chains(l, from) || logged && logsOn(l, from) {
		return 0
	}
	addCrash(l, at, c)
	return at + 1
}

// isFrame reports whether a line is of rich's box.
func isFrame(text []byte) bool {
	return slices.ContainsFunc(
		[]string{"│", "╰", "╭"},
		func(s string) bool { return bytes.HasPrefix(text, []byte(s)) },
	)
}

// withoutPrefix cuts what a logger put before the first line of a traceback off a later one. Times
// may differ.
func withoutPrefix(text, prefix []byte) []byte {
	if len(text) < len(bytes.TrimRight(prefix, " ")) {
		return text
	}
	for i, c := range prefix[:min(len(prefix), len(text))] {
		if text[i] != c && (!lex.IsDigit(c) || !lex.IsDigit(text[i])) {
			return text
		}
	}
	return text[min(len(prefix), len(text)):]
}

// isHarmless reports whether the line before a traceback says that Python passed over the error.
func isHarmless(l *scan.Line) bool {
	before, ok := l.Previous(1)
	first, _ := l.Peek(1)
	if bytes.Contains(
		first[:min(len(first), 256)],
		[]byte("/multiprocessing/resource_tracker.py\", line "),
	) {
		return true // of a process of Python's own
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc(
		[]string{"Exception ignored ", "--- Logging error ---", "Error in atexit"},
		func(s string) bool {
			return bytes.Contains(before[:min(len(before), 256)], []byte(s))
		},
	)
}

// isInterrupt reports whether these are the words of an exception that ends a program as it was
// told.
func isInterrupt(text string) bool {
	name, value, _ := strings.Cut(text, ":")
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "KeyboardInterrupt", "CancelledError", "GeneratorExit":
		return true
	case "SystemExit":
		value = strings.TrimSpace(value)
		return value == "" || value == "0" || value == "None"
	}
	return false
}

// ranOutOfMemory reports whether these are the usual words of an [record.OutOfMemory]. The rarer
// ones are told by the [parser.Builder].
func ranOutOfMemory(text string) bool {
	return strings.Contains(text, "cuda.OutOfMemoryError") || strings.HasPrefix(text, "torch.OutOfMemoryError") ||
		strings.Contains(text, "CUDA out of memory") ||
		strings.Contains(text, "CUDA error: out of memory")
}

// behindCrash is how many lines behind a traceback's last one are looked at.
const behindCrash = 64

// chains reports whether another traceback follows that is of the same failure.
func chains(l *scan.Line, end int) bool {
	return behind(l, end, behindCrash/4, func(text []byte) bool {
		return bytes.Contains(text, []byte("he above exception")) ||
			bytes.Contains(text, []byte("Original Traceback"))
	})
}

// goodLevel is the level of a message that tells of no trouble. glog and NeMo print one letter, and
// loguru has a level of its own:
//
//	I1120 02:00:04.123456 4711 run.py:12] done
//	[NeMo I 2026-11-20 02:00:05 asr:349] Finished transcribing 2 files
var goodLevel = lex.Expression(`(?:^|[^\w-])(?:DEBUG|INFO|NOTICE|SUCCESS)(?:[\s:|\])>-]|$)|` +
	`^[DI]\d{4} \d\d:\d\d:|^\[NeMo [DI] \d`)

// logsOn reports whether the logger that printed an error goes on with a message that tells of no
// trouble: the program caught the error.
func logsOn(l *scan.Line, end int) bool { return behind(l, end, behindCrash, goodLevel().Match) }

// behind reports whether one of the lines behind an offset of the window is as wanted.
func behind(l *scan.Line, end, lines int, wanted func(text []byte) bool) bool {
	first := end
	for range lines {
		text, start, stop, ok := l.Below(end)
		if !ok || start-first > source.Margin/4 {
			return false
		}
		if wanted(text[:min(len(text), 256)]) {
			return true
		}
		end = stop
	}
	return false
}

// hasLevel reports whether a logger put the level of an error into the line.
func hasLevel(text []byte) bool { return errorLevel().Match(text[:min(len(text), 256)]) }

var errorLevel = lex.Expression(
	`(?:^|[^\w-])(?:WARNING|WARN|ERROR|CRITICAL|FATAL)(?:[\s:|\])>-]|$)|` +
		`^[WEF]\d{4} \d\d:\d\d:|^\[NeMo [WE] \d`,
)
