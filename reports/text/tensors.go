package text

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/harness/inspect"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A TensorProcess is a process that said which tensors it has.
type TensorProcess struct {
	Command string // "" if it is not known
	*inspect.Answer
}

// Tensors writes which tensors are alive in running processes, and what refers to them.
func Tensors(w io.Writer, processes []TensorProcess, opts Options) error {
	t := newWriter(opts)
	for i, p := range processes {
		if i > 0 {
			t.WriteByte('\n')
		}
		t.tensorTotals(p)
		if len(p.Groups) == 0 {
			continue
		}
		rows := [][]string{{"Bytes", "Tensors", "Shape", "Type", "Device", "Held by"}}
		for _, g := range p.Groups {
			where := g.Where
			if where == "" {
				where = "not known: C++, or a temporary reference"
			}
			rows = append(rows, []string{
				record.FormatBytes(g.Bytes), wording.Count(g.Count), shape(g.Shape),
				sink.Line(g.DType), sink.Line(g.Device), sink.Line(where),
			})
		}
		if err := t.table(rows, []int{0, 1}, 5); err != nil {
			return err
		}
		if p.More.Groups > 0 {
			t.wrap(fmt.Sprintf("%s: %s, %s", wording.Plural(p.More.Groups, "more row"),
				wording.Plural(p.More.Count, "tensor"), record.FormatBytes(p.More.Bytes)), "  ")
		}
	}
	return t.flush(w)
}

// tensorTotals writes which process it is, and the sums for each device.
func (t *writer) tensorTotals(p TensorProcess) {
	pid := p.PID
	if p.HostPID > 0 {
		pid = p.HostPID
	}
	head := fmt.Sprintf("pid %d", pid)
	if p.Rank != "" {
		head += ", rank " + sink.Line(p.Rank)
	}
	if p.Command != "" {
		head += " (" + sink.Line(p.Command) + ")"
	}
	switch {
	case len(p.Devices) > 0:
	case p.Torch == "":
		head += ": the process has not imported torch"
	default:
		head += ": no tensors"
	}
	t.wrap(head, "  ")
	for _, d := range p.Devices {
		line := fmt.Sprintf("%s: %s, %s", sink.Line(d.Device), wording.Plural(d.Count, "tensor"),
			record.FormatBytes(d.Bytes))
		if d.Allocated > 0 {
			line += "; allocated " + record.FormatBytes(d.Allocated)
		}
		if hidden := d.Allocated - d.Bytes; hidden > 0 {
			line += ", so " + record.FormatBytes(hidden) + " are rounding or held by C++ only"
		}
		t.wrap(line, "  ")
	}
}

// shape prints the shape of a tensor: "1x3000x80", or "scalar" for one number.
func shape(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", "x"), "[]")
}
