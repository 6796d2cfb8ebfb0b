package parser

import (
	"bytes"
	"slices"
	"strings"
)

// crashDialect is the death of a program, in the words of Python, of CUDA's libraries, of the runtimes
// of C++ and Go, of shells, Slurm and the kernel:
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
// A program that catches an exception may print the same. So the words are a crash only at the end of
// a log: see [Builder]. An allocation that failed on the device is an [OutOfMemory], and an interrupt
// from the keyboard is no crash.
var crashDialect = dialect{
	name: "crash",
	needles: slices.Concat(
		[]string{string(tracebackWords), "INTERNAL ASSERT FAILED at ", "Detected ", "DUE TO TIME LIMIT"},
		deathWords, abortWords, deviceErrors),
	read: func(l *line, at int) int {
		text := l.text[at:]
		begins := func(word string) bool { return bytes.HasPrefix(text, []byte(word)) }
		switch {
		case begins(string(tracebackWords)):
			return readTraceback(l, at)
		case begins("Detected "):
			if !oomKill().Match(text) {
				return 0
			}
		case begins("DUE TO TIME LIMIT"):
			if !bytes.Contains(l.text[:at], []byte("slurmstepd: ")) {
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
		l.crash(at, Crash{Text: l.message(messageStart(l.text[:at]))})
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
		"Fatal Python error: ", "terminate called after throwing an instance of '", "panic: ", "GGML_ASSERT: ",
		"thread 'main' panicked at ", "double free or corruption (", "zsh: segmentation fault ", "zsh: killed ",
	}
	// deviceErrors are, or begin, those after which a process can use the device no more.
	deviceErrors = []string{
		cudaError, "an illegal memory access was encountered", "CUBLAS_STATUS_NOT_INITIALIZED",
		"CUBLAS_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_EXECUTION_FAILED",
	}
	lastError = expression(`^CUDA error: (?:device-side assert triggered|unspecified launch failure|` +
		`an illegal instruction was encountered|misaligned address|uncorrectable ECC error encountered)`)

	// oomKill is Slurm's "Detected 1 oom-kill event(s) in StepId=7.batch.", in later versions "oom_kill event".
	oomKill = expression(`^Detected \d+ oom[-_]kill event`)
	// inShell is what a shell, make or Slurm puts before the words for a signal.
	inShell = expression(`^(?:[^\s:]{1,200}: line \d{1,7}: +\d+ +|make(?:\[\d+\])?: \*\*\* \[[^\]]*\] |` +
		`srun: error: [^\s:]+: tasks? [\d,-]+: )$`)
	// ofMonitor is a command that only watches or waits, and is killed when the work is done:
	//
	//	./run.sh: line 12:  4711 Killed                  nvidia-smi dmon -s u > gpu.csv
	ofMonitor = expression(`^Killed +` +
		`(?:nvidia-smi|rocm-smi|dcgmi|gpustat|nvitop|nvtop|vmstat|dstat|tail|sleep) `)
	// ofProcess is what marks the process of several that prints a line, where messageStart leaves it;
	// see [speakerMark].
	ofProcess = expression(`^(?:[a-z][\w.-]*\d\s+\|\s*|\([\w ]+pid=\d+\)\s*|<std(?:err|out)>:\s?)`)
	// bareDeath is behind the words for a signal where the line has nothing else.
	bareDeath = expression(`^(?:: \d+| \(\d+\))?\s*(?:\(core dumped\))?\s*$`)
)

// crash adds a crash whose words are at an offset of the line.
func (l *line) crash(at int, c Crash) {
	c.Header = l.header(at)
	c.Lane.Rank = rankBefore(l.text[:at])
	l.add(c)
}

// beforeWords returns what the line has before the words at an offset, without what loggers put there.
func beforeWords(l *line, at int) []byte {
	before := l.text[messageStart(l.text[:at]):at]
	return before[len(ofProcess().Find(before)):]
}

// beginsMessage reports whether a message begins at an offset of the line.
func beginsMessage(l *line, at int) bool {
	if isTranscript(l.text[:at]) {
		return false
	}
	return len(beforeWords(l, at)) == 0
}

// isDeath reports whether the words for a signal at an offset say that a process died by it.
func isDeath(l *line, at int) bool {
	if isTranscript(l.text[:at]) {
		return false
	}
	before, rest := beforeWords(l, at), l.text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("Killed process ")):
		return bytes.HasSuffix(before, []byte("ut of memory: "))
	case inShell().Match(before):
		return !ofMonitor().Match(rest)
	case isIndented(l.text): // as text that a speech model heard is printed
		return false
	}
	word := slices.IndexFunc(deathWords, func(w string) bool { return bytes.HasPrefix(rest, []byte(w)) })
	return len(before) == 0 && bareDeath().Match(rest[len(deathWords[word]):])
}

// isDeviceError reports whether the words at an offset are the message of an error that ends all work
// on the device. The last line of a traceback is the traceback's.
func isDeviceError(l *line, at int) bool {
	before, rest := l.text[:at], l.text[at:]
	if bytes.HasPrefix(rest, []byte(cudaError)) && !lastError().Match(rest) {
		return false
	}
	if isQuoted(l.text, at) || inSource(before) || isSpokenOf(l.text, at) || isIndented(l.text) {
		return false
	}
	for _, word := range []string{"continuing", "retry"} {
		if bytes.Contains(rest[:min(len(rest), 256)], []byte(word)) {
			return false
		}
	}
	if above, _ := l.tracebackAbove(); above > 0 {
		return false
	}
	return !hasLevel(before) || !l.logsOn(l.end)
}

func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }

// exceptionName is the name of an exception, as the last line of a traceback begins with it. Where
// several processes print into one another, only usualName is sure.
var (
	exceptionName = expression(`^[A-Za-z_][\w.<>]*(?:$|:)`)
	usualName     = expression(`^[A-Za-z_][\w.<>]*(?:Error|Exception|Interrupt|Exit)(?:$|:)`)
)

// readTraceback reads a traceback of Python, or of rich, which draws a box:
//
//	╭─────── Traceback (most recent call last) ───────╮
//
// Of tracebacks in a chain the last one says what ended the program.
func readTraceback(l *line, at int) (end int) {
	head := l.text[at+len(tracebackWords):]
	prefix, _, rich := bytes.Cut(l.text[:at], []byte("╭"))
	switch {
	case !rich && string(bytes.TrimSpace(head)) != ":", isTranscript(l.text[:at]):
		return 0
	case l.isHarmless(), at > 0 && len(trimBlanks(l.text[:at])) == 0: // one that is shown again
		return 0
	}
	prefix = slices.Clone(bytes.TrimSuffix(prefix, []byte("Original ")))
	c := Crash{Text: l.message(at)}
	from, name := l.end, exceptionName()
	for n := range tracebackMax {
		text, start, stop, ok := l.below(from)
		if !ok || start-l.end > margin {
			break
		}
		switch again := bytes.Contains(text, tracebackWords); {
		case again && n == 0: // of another process; the last one is read
			return 0
		case bytes.HasPrefix(trimBlanks(text), harnessPrefixBytes):
			return 0
		case again:
			name = usualName()
		}
		text, from = withoutPrefix(text, prefix), stop
		if len(trimBlanks(text)) == 0 || isIndented(text) || isFrame(text) {
			continue
		}
		if name.Match(text) {
			text = bytes.TrimSpace(text[:min(len(text), 400)])
			c.Text = shorten(strings.ToValidUTF8(string(text), "�"), 300)
			c.Traceback = l.lineEnds(l.end, start)
			break
		}
		name = usualName()
	}
	before, _ := l.previous(1)
	logged := hasLevel(prefix) || hasLevel(before)
	if isInterrupt(c.Text) || ranOutOfMemory(c.Text) || l.chains(from) || logged && l.logsOn(from) {
		return 0
	}
	l.crash(at, c)
	return at + 1
}

// isFrame reports whether a line is of rich's box.
func isFrame(text []byte) bool {
	return slices.ContainsFunc([]string{"│", "╰", "╭"}, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) })
}

// withoutPrefix cuts what a logger put before the first line of a traceback off a later one. Times may
// differ.
func withoutPrefix(text, prefix []byte) []byte {
	if len(text) < len(bytes.TrimRight(prefix, " ")) {
		return text
	}
	for i, c := range prefix[:min(len(prefix), len(text))] {
		if text[i] != c && (!isDigit(c) || !isDigit(text[i])) {
			return text
		}
	}
	return text[min(len(prefix), len(text)):]
}

// isHarmless reports whether the line before a traceback says that Python passed over the error.
func (l *line) isHarmless() bool {
	before, ok := l.previous(1)
	first, _ := l.peek(1)
	if bytes.Contains(first[:min(len(first), 256)], []byte("/multiprocessing/resource_tracker.py\", line ")) {
		return true // of a process of Python's own
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc([]string{"Exception ignored ", "--- Logging error ---", "Error in atexit"}, func(s string) bool {
		return bytes.Contains(before[:min(len(before), 256)], []byte(s))
	})
}

// isInterrupt reports whether these are the words of an exception that ends a program as it was told.
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

// ranOutOfMemory reports whether these are the usual words of an [OutOfMemory]. The rarer ones are told
// by the [Builder].
func ranOutOfMemory(text string) bool {
	return strings.Contains(text, "cuda.OutOfMemoryError") || strings.HasPrefix(text, "torch.OutOfMemoryError") ||
		strings.Contains(text, "CUDA out of memory") || strings.Contains(text, "CUDA error: out of memory")
}

// behindCrash is how many lines behind a traceback's last one are looked at.
const behindCrash = 64

// chains reports whether another traceback follows that is of the same failure.
func (l *line) chains(end int) bool {
	return l.behind(end, behindCrash/4, func(text []byte) bool {
		return bytes.Contains(text, []byte("he above exception")) || bytes.Contains(text, []byte("Original Traceback"))
	})
}

// goodLevel is the level of a message that tells of no trouble. glog and NeMo print one letter, and
// loguru has a level of its own:
//
//	I1120 02:00:04.123456 4711 run.py:12] done
//	[NeMo I 2026-11-20 02:00:05 asr:349] Finished transcribing 2 files
var goodLevel = expression(`(?:^|[^\w-])(?:DEBUG|INFO|NOTICE|SUCCESS)(?:[\s:|\])>-]|$)|` +
	`^[DI]\d{4} \d\d:\d\d:|^\[NeMo [DI] \d`)

// logsOn reports whether the logger that printed an error goes on with a message that tells of no
// trouble: the program caught the error.
func (l *line) logsOn(end int) bool { return l.behind(end, behindCrash, goodLevel().Match) }

// behind reports whether one of the lines behind an offset of the window is as wanted.
func (l *line) behind(end, lines int, wanted func(text []byte) bool) bool {
	first := end
	for range lines {
		text, start, stop, ok := l.below(end)
		if !ok || start-first > margin/4 {
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

var errorLevel = expression(`(?:^|[^\w-])(?:WARNING|WARN|ERROR|CRITICAL|FATAL)(?:[\s:|\])>-]|$)|` +
	`^[WEF]\d{4} \d\d:\d\d:|^\[NeMo [WE] \d`)
