package failure

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// Crash reads how a program died, in the words of Python, of CUDA's libraries, of the runtimes of
// C++ and Go, of shells, Slurm and the kernel:
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
// A program that catches an exception may print the same words. So [parser.Builder] counts these
// records as crashes only near the end of a log. A failed allocation on the device is a
// [record.OutOfMemory] instead. Ctrl-C (KeyboardInterrupt) is not a crash.
var Crash = scan.Dialect{
	Name:    "crash",
	Failure: true,
	Needles: slices.Concat(
		[]string{string(tracebackWords), "INTERNAL ASSERT FAILED at ", "Detected ", "DUE TO TIME LIMIT"},
		needlesOfKills(), deathWords, abortWords, deviceErrors),
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
		case isKill(l, at):
		case slices.ContainsFunc(abortWords, begins):
			if !beginsMessage(l, at) {
				return 0
			}
		case slices.ContainsFunc(deathWords, begins):
			if !isDeath(l, at) {
				return 0
			}
		case slices.ContainsFunc(needlesOfKills(), begins), !isDeviceError(l, at):
			return 0
		}
		addCrash(l, at, record.Crash{Text: l.Message(l.Head(at).Message())})
		return at + 1 // other dialects may read the rest of the line
	},
}

const cudaError = "CUDA error: "

var (
	tracebackWords = []byte("Traceback (most recent call last)")
	// deathWords are the words with which shells and the kernel report a signal.
	deathWords = []string{"Segmentation fault", "Killed", "Aborted", "Bus error"}
	// abortWords are the beginnings of messages with which a runtime ends its program.
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
	// deviceErrors are the errors after which a process cannot use the device any more. Many
	// names of errors begin with cudaError; of these, only the ones that lastError matches count.
	deviceErrors = []string{
		cudaError, "an illegal memory access was encountered", "CUBLAS_STATUS_NOT_INITIALIZED",
		"CUBLAS_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_EXECUTION_FAILED",
	}
	// lastError matches the CUDA errors after which a process cannot use the device any more.
	lastError = lex.Expression(
		`^CUDA error: (?:device-side assert triggered|unspecified launch failure|` +
			`an illegal instruction was encountered|misaligned address|uncorrectable ECC error encountered)`,
	)

	// oomKill matches Slurm's "Detected 1 oom-kill event(s) in StepId=7.batch.". Later versions print
	// "oom_kill event".
	oomKill = lex.Expression(`^Detected [1-9]\d* oom[-_]kill event`)
	// shellPrefix matches the text that a shell, make or Slurm prints before one of deathWords.
	shellPrefix = lex.Expression(
		`^(?:[^\s:]{1,200}: line \d{1,7}: +\d+ +|make(?:\[\d+\])?: \*\*\* \[[^\]]*\] |` +
			`srun: error: [^\s:]+: tasks? [\d,-]+: )$`,
	)
	// killedMonitor matches a command that only watches or waits. Scripts kill it when the work is
	// done:
	//
	//	./run.sh: line 12:  4711 Killed                  nvidia-smi dmon -s u > gpu.csv
	killedMonitor = lex.Expression(`^Killed +` +
		`(?:nvidia-smi|rocm-smi|dcgmi|gpustat|nvitop|nvtop|vmstat|dstat|tail|sleep) `)
	// signalEnd matches the text of a signal if the line ends behind it. macOS prints the signal's
	// number: "Killed: 9". Other numbers are counts: "Killed: 0".
	signalEnd = lex.Expression(`^(?:Segmentation fault(?:: 11| \(11\))?|Killed(?:: 9| \(9\))?|` +
		`Aborted(?: \(6\))?|Bus error(?:: 10|: 7| \(7\))?)\s*(?:\(core dumped\))?\s*$`)
)

// addCrash adds the crash c to the line's records, and sets its header and rank. The parameter at
// is the offset in the line at which the crash's message begins.
func addCrash(l *scan.Line, at int, c record.Crash) {
	c.Header = l.Header(at)
	c.Lane.Rank = l.Head(at).Rank()
	l.Add(c)
}

// beginsMessage reports whether the program's message begins at an offset of the line.
func beginsMessage(l *scan.Line, at int) bool {
	if IsTranscript(l.Text[:at]) {
		return false
	}
	return len(wordsBefore(l, at)) == 0
}

// isDeath reports whether a line says that a signal killed a process. The parameter at is
// the offset in the line at which one of deathWords begins.
func isDeath(l *scan.Line, at int) bool {
	if IsTranscript(l.Text[:at]) {
		return false
	}
	before, rest := wordsBefore(l, at), l.Text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("Killed process ")):
		return bytes.HasSuffix(before, []byte("ut of memory: "))
	case shellPrefix().Match(before):
		return !killedMonitor().Match(rest)
	case source.LastBarEnd(l.Text[:at]) == 0 && isIndented(l.Text):
		// Programs print transcripts with blanks before them.
		return false
	}
	return len(before) == 0 && signalEnd().Match(rest)
}

// isDeviceError reports whether the one of deviceErrors at an offset of the line is a message
// after which the process cannot use the device. It returns false for the last line of a
// traceback, because the traceback's record already has this message.
func isDeviceError(l *scan.Line, at int) bool {
	before, rest := l.Text[:at], l.Text[at:]
	if bytes.HasPrefix(rest, []byte(cudaError)) && !lastError().Match(rest) {
		return false
	}
	if source.IsQuoted(l.Text, at) || l.Head(at).InSource() || IsRemark(l.Text, at) ||
		source.LastBarEnd(before) == 0 && isIndented(l.Text) {
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
	return !hasErrorLevel(before) || !recovers(l, l.End)
}

// isIndented reports whether a line begins with a blank.
func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }
