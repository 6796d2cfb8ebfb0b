package record

import (
	"strconv"
	"strings"
)

// A ProcessEnd is how a process ended, as the error of a file says it:
//
//	[vramsoak] file-end index=3 ... status=failed error="the process exited with code 1: ValueError: bad header"
//
// Logs of earlier versions give the reason that a process printed there and nowhere else.
type ProcessEnd struct {
	Code   int
	Signal string // "SIGKILL"; "" where the process exited by itself
	Cause  string // the reason that it printed; "" where that is not known
}

// The words of a [ProcessEnd]. They are in logs: do not change them.
const (
	endOfProcess = "the process "
	endByCode    = "exited with code "
	endBySignal  = "was ended by "
	beforeCause  = ": "
)

// How is what the process did: "exited with code 1", "was ended by SIGKILL".
func (e ProcessEnd) How() string {
	if e.Signal != "" {
		return endBySignal + e.Signal
	}
	return endByCode + strconv.Itoa(e.Code)
}

// String is the error of a file: "the process exited with code 1: ValueError: bad header".
func (e ProcessEnd) String() string {
	said := endOfProcess + e.How()
	if e.Cause != "" {
		said += beforeCause + e.Cause
	}
	return said
}

// ParseProcessEnd reads what [ProcessEnd.String] wrote. ok is false for any other text.
func ParseProcessEnd(text string) (e ProcessEnd, ok bool) {
	rest, ok := strings.CutPrefix(text, endOfProcess)
	if !ok {
		return ProcessEnd{}, false
	}
	how, cause, _ := strings.Cut(rest, beforeCause)
	e.Cause = cause
	if e.Signal, ok = strings.CutPrefix(how, endBySignal); ok {
		if !strings.HasPrefix(e.Signal, "SIG") {
			return ProcessEnd{}, false
		}
		return e, true
	}
	e.Signal = ""
	number, ok := strings.CutPrefix(how, endByCode)
	if !ok {
		return ProcessEnd{}, false
	}
	code, err := strconv.Atoi(number)
	if err != nil {
		return ProcessEnd{}, false
	}
	e.Code = code
	return e, true
}
