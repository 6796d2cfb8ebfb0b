//go:build whisper

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An environment reads defaults from environment variables and collects the mistakes in them.
type environment struct {
	getenv func(string) string
	errs   []error
}

// wrong adds a mistake in a variable.
func (e *environment) wrong(name, what string) {
	e.errs = append(e.errs, fmt.Errorf("%s: %s", name, what))
}

// number returns the value of a variable, or `otherwise` if it is not set.
func (e *environment) number(otherwise int, name string) int {
	value := e.getenv(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		e.wrong(name, fmt.Sprintf("expected a whole number from 1, found %q", value))
		return otherwise
	}
	return n
}

// yes returns the value of a variable that is true or false, or `otherwise` if it is not set.
func (e *environment) yes(otherwise bool, name string) bool {
	value := e.getenv(name)
	if value == "" {
		return otherwise
	}
	yes, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		e.wrong(name, fmt.Sprintf("expected true or false, found %q", value))
		return otherwise
	}
	return yes
}

// word returns the value of a variable that is one of the words allowed, or `otherwise` if it is
// not set. Capitals do not matter.
func (e *environment) word(otherwise string, allowed []string, name string) string {
	value := strings.ToLower(e.getenv(name))
	if value == "" {
		return otherwise
	}
	if !slices.Contains(allowed, value) {
		e.wrong(name, unknown(e.getenv(name), allowed))
		return otherwise
	}
	return value
}

// notices returns a line for each variable that changes what this run does, and that meant
// something else in earlier versions. In a soak with restarts or several workers, only the process
// that begins with the first file has notices, so that they are printed once in a run.
func (e *environment) notices(o *options) (lines []string) {
	if o.first > 1 {
		return nil
	}
	if value := e.getenv("ENABLE_FAST_PATH"); value != "" && !o.given["fast-path"] && o.diarizes() {
		line := "files are diarized; if memory runs out in that, the file goes on without speakers. " +
			"--fast is for no diarization at all, which this variable meant before"
		if !o.allowFastPath {
			line = "if memory runs out in the diarization, the file fails (without this variable it " +
				"goes on without speakers)"
		}
		lines = append(lines, fmt.Sprintf("ENABLE_FAST_PATH=%s: %s", value, line))
	}
	if value := e.getenv("EMBEDDING_BATCH_SIZE"); value != "" && o.diarizes() && !o.noEnroll &&
		e.getenv("VOICE_ENROLLMENT_BATCH_SIZE") == "" && !o.given["enroll-batch"] {
		lines = append(lines, fmt.Sprintf("EMBEDDING_BATCH_SIZE=%s: this is the batch of texts "+
			"(--text-batch), and no longer that of voices, which has %d turns "+
			"(VOICE_ENROLLMENT_BATCH_SIZE)", value, o.enrollBatch))
	}
	return lines
}
