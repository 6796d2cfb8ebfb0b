package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
)

// Faults are failures that the user requests, to test the tools that supervise the pipeline.
type Faults struct {
	Leak int64    // bytes that each file leaks
	Keep []string // names of cleanups that free nothing
	At   map[int]Fault
}

// A Fault is a failure in one file.
type Fault string

// The failures in one file.
const (
	FaultOOM Fault = "oom" // an allocation of twice the device's memory
	// FaultOOMBatch makes memory run out in voice enrollment for batches of two or more clips; see
	// [Enrollment].
	FaultOOMBatch Fault = "oom-batch"
	FaultOOMItem  Fault = "oom-item" // memory runs out even for one clip
	// FaultOOMTextBatch makes memory run out in the text embedding for batches of two or more texts;
	// see [TextEmbedding].
	FaultOOMTextBatch Fault = "oom-text-batch"
	FaultOOMTextItem  Fault = "oom-text-item" // memory runs out even for one text
	FaultCrash        Fault = "crash"         // the process aborts in C code
	FaultHang         Fault = "hang"          // the work never ends
)

// faultSpecs lists the forms that [Faults.Set] accepts, for messages.
const faultSpecs = "leak:SIZE, keep:NAME, oom:N, oom-batch:N, oom-item:N, oom-text-batch:N, " +
	"oom-text-item:N, crash:N or hang:N"

// Set adds a fault: "leak:4MiB", "keep:Whisper", "oom:20", "crash:20", "hang:20". It implements
// flag.Value.
func (f *Faults) Set(spec string) error {
	kind, value, found := strings.Cut(spec, ":")
	if !found {
		return fmt.Errorf("expected %s, found %q", faultSpecs, spec)
	}
	switch kind {
	case "leak":
		size, err := lex.ParseSize(value)
		if err != nil {
			return fmt.Errorf("leak: %w", err)
		}
		if size.Bytes <= 0 {
			return fmt.Errorf("leak: expected a size above 0, such as leak:4MiB, found %q", value)
		}
		f.Leak += size.Bytes
	case "keep":
		if value == "" {
			return errors.New(
				"keep: expected the name of a cleanup, such as keep:Whisper, found nothing")
		}
		f.Keep = append(f.Keep, value)
	case "oom", "oom-batch", "oom-item", "oom-text-batch", "oom-text-item", "crash", "hang":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf(
				"%s: expected a file's place in the batch, from 1, such as %s:20, found %q",
				kind, kind, value)
		}
		if other, taken := f.At[n]; taken {
			return fmt.Errorf("%s: expected one fault at file %d, which has %s already",
				kind, n, other)
		}
		if f.At == nil {
			f.At = map[int]Fault{}
		}
		f.At[n] = Fault(kind)
	default:
		return fmt.Errorf("expected %s, found %q", faultSpecs, spec)
	}
	return nil
}

// String returns the faults in the form that Set reads, with blanks between them.
func (f *Faults) String() string {
	var specs []string
	if f.Leak > 0 {
		specs = append(specs, fmt.Sprintf("leak:%d", f.Leak))
	}
	for _, name := range f.Keep {
		specs = append(specs, "keep:"+name)
	}
	for _, n := range slices.Sorted(maps.Keys(f.At)) {
		specs = append(specs, fmt.Sprintf("%s:%d", f.At[n], n))
	}
	return strings.Join(specs, " ")
}
