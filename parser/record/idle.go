package record

import (
	"fmt"
	"strconv"
	"strings"
)

// An Idle is the memory in use on a device while no process of the run is alive.
type Idle struct {
	Header
	Lane  Lane
	GPU   int   // the driver's number of the device; Lane has the pipeline's number
	Phase Phase // before or after the run's processes
	// Settled is set if the driver's figure of memory in use had stopped changing. Otherwise the
	// harness stopped waiting although the figure was still changing.
	Settled bool
	Reading // Used and Total of the device
	// Holders are the processes that hold the device's memory, as far as the driver names them.
	// Run is the number of the run, as in timeline.File. Only a timeline sets Holders and Run.
	Holders []Holder
	Run     int
}

// A Phase is a time when no process of the run is alive.
type Phase string

// The phases of an [Idle].
const (
	PhaseBefore Phase = "before" // before the first process of the run
	PhaseAfter  Phase = "after"  // after the last process of the run
)

// A Holder is a process that holds memory of a device while no process of the run is alive. The
// harness writes a Holder's line after the [Idle] line of the device.
type Holder struct {
	Header
	Lane    Lane
	PID     int
	Command string // "" if the command is unknown, as for a process of another container
	Reading        // Used, if the driver gives the process's memory
	Ours    bool   // the process was left behind by an earlier run of vramsoak
}

// String returns the holder as a phrase: "pid 4711 (python train.py) 8.50 GiB, left by a run of
// vramsoak".
func (r *Holder) String() string {
	s := fmt.Sprintf("pid %d", r.PID)
	if r.Command != "" {
		s += " (" + r.Command + ")"
	}
	if used, ok := r.Get(Used); ok {
		s += " " + FormatBytes(used.Bytes)
	}
	if r.Ours {
		s += ", left by a run of vramsoak"
	}
	return s
}

// maxHolders is the most holders that a message names. Of the others, it gives only the number.
const maxHolders = 5

// HeldBy returns a phrase that names the processes in holders: ", held by pid 4711 (python
// train.py) 8.50 GiB". It returns "" if holders is empty. If an earlier run of vramsoak left some
// of these processes behind, the phrase also says how to end them.
func HeldBy(holders []Holder) string {
	if len(holders) == 0 {
		return ""
	}
	var names []string
	ours := false
	for i := range holders {
		if i < maxHolders {
			names = append(names, holders[i].String())
		}
		ours = ours || holders[i].Ours
	}
	s := ", held by " + strings.Join(names, "; ")
	if more := len(holders) - maxHolders; more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	if ours {
		s += "; vramsoak doctor --free ends what is left"
	}
	return s
}

// AppendLine appends the record as a line of the harness, without its holders.
func (r Idle) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "idle")
	b = AppendField(b, "device", strconv.Itoa(r.Lane.Device))
	if r.GPU != r.Lane.Device {
		b = AppendField(b, "gpu", strconv.Itoa(r.GPU))
	}
	b = AppendField(b, "used", strconv.FormatInt(r.Bytes(Used), 10))
	b = AppendField(b, "total", strconv.FormatInt(r.Bytes(Total), 10))
	b = AppendField(b, "settled", strconv.FormatBool(r.Settled))
	return AppendField(b, "phase", string(r.Phase))
}

// AppendLine appends the record as a line of the harness.
func (r Holder) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "holder")
	b = AppendField(b, "device", strconv.Itoa(r.Lane.Device))
	b = AppendField(b, "pid", strconv.Itoa(r.PID))
	if r.Command != "" {
		b = AppendField(b, "command", r.Command)
	}
	if used, ok := r.Get(Used); ok {
		b = AppendField(b, "used", strconv.FormatInt(used.Bytes, 10))
	}
	if r.Ours {
		b = AppendField(b, "ours", "true")
	}
	return b
}
