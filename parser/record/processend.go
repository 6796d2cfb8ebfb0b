package record

import (
	"strconv"
	"strings"
)

// A ProcessEnd says how a process ended. The harness writes it as text into the error of a file:
//
//	[vramsoak] file-end index=3 ... error="the process exited with code 1: ValueError: bad header"
//
// In logs of earlier versions, this text is the only place with the reason that the process
// printed.
type ProcessEnd struct {
	Code   int
	Signal string // "SIGKILL"; "" if the process exited by itself
	Cause  string // the reason that the process printed; "" if it is unknown
}

// The words of a [ProcessEnd]. Existing logs contain these words, so they must not change.
const (
	endPrefix    = "the process "
	codePrefix   = "exited with code "
	signalPrefix = "was ended by "
	causePrefix  = ": "
)

// How returns what the process did: "exited with code 1", "was ended by SIGKILL".
func (e ProcessEnd) How() string {
	if e.Signal != "" {
		return signalPrefix + e.Signal
	}
	return codePrefix + strconv.Itoa(e.Code)
}

// String returns the error of a file: "the process exited with code 1: ValueError: bad header".
func (e ProcessEnd) String() string {
	said := endPrefix + e.How()
	if e.Cause != "" {
		said += causePrefix + e.Cause
	}
	return said
}

// ParseProcessEnd reads the text that [ProcessEnd.String] returns. ok is false for any other text.
func ParseProcessEnd(text string) (e ProcessEnd, ok bool) {
	rest, ok := strings.CutPrefix(text, endPrefix)
	if !ok {
		return ProcessEnd{}, false
	}
	how, cause, _ := strings.Cut(rest, causePrefix)
	e.Cause = cause
	if e.Signal, ok = strings.CutPrefix(how, signalPrefix); ok {
		if !strings.HasPrefix(e.Signal, "SIG") {
			return ProcessEnd{}, false
		}
		return e, true
	}
	e.Signal = ""
	number, ok := strings.CutPrefix(how, codePrefix)
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
