package export_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields returns the fields of a protobuf message by their numbers: numbers as uint64, everything
// else as []byte.
func fields(t *testing.T, b []byte) map[protowire.Number][]any {
	t.Helper()
	m := map[protowire.Number][]any{}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has the type %d", num, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		m[num] = append(m[num], v)
	}
	return m
}

func number(values []any) uint64 {
	if len(values) == 0 {
		return 0
	}
	return values[0].(uint64)
}

func text(values []any) string {
	if len(values) == 0 {
		return ""
	}
	return string(values[0].([]byte))
}

// A shown is a track of a trace.
type shown struct {
	name string // with the names of the groups around it
	last uint64 // time of the last event
	open []string
}

// decode returns a trace as text. It fails if the slices or values of a track go back in time, if a
// slice ends that has not begun, or if an event is on a track that was not described before. The
// numbers of the fields are those of Perfetto's protobuf files.
func decode(t *testing.T, trace []byte) string {
	t.Helper()
	tracks := map[uint64]*shown{}
	var out strings.Builder
	for _, packet := range fields(t, trace)[1] {
		p := fields(t, packet.([]byte))
		if got := number(p[10]); got != 1 { // trusted_packet_sequence_id
			t.Errorf("a packet of sequence %d", got)
		}
		if d := p[60]; d != nil { // track_descriptor
			describe(t, &out, tracks, fields(t, d[0].([]byte)))
		}
		if e := p[11]; e != nil { // track_event
			event(t, &out, tracks, number(p[8]), fields(t, e[0].([]byte)))
		}
	}
	for _, s := range tracks {
		if len(s.open) > 0 {
			t.Errorf("%s: %q have no end", s.name, s.open)
		}
	}
	return out.String()
}

func describe(t *testing.T, out *strings.Builder, tracks map[uint64]*shown,
	d map[protowire.Number][]any,
) {
	t.Helper()
	s := &shown{name: text(d[2])}
	if parent := number(d[5]); parent != 0 {
		if tracks[parent] == nil {
			t.Fatalf("%s is in group %d, which was not described before", s.name, parent)
		}
		s.name = tracks[parent].name + " > " + s.name
	}
	tracks[number(d[1])] = s
	fmt.Fprintf(out, "track %s", s.name)
	if d[8] != nil {
		unit := map[uint64]string{2: "count", 3: "bytes"}[number(fields(t, d[8][0].([]byte))[3])]
		fmt.Fprintf(out, " [%s]", unit)
	}
	if about := text(d[14]); about != "" {
		fmt.Fprintf(out, " (%s)", about)
	}
	out.WriteByte('\n')
}

func event(t *testing.T, out *strings.Builder, tracks map[uint64]*shown, at uint64,
	e map[protowire.Number][]any,
) {
	t.Helper()
	s := tracks[number(e[11])]
	if s == nil {
		t.Fatalf("an event on track %d, which was not described before", number(e[11]))
	}
	if number(e[9]) != 3 { // only notes may be in any order
		if at < s.last {
			t.Errorf("%s goes back from %d to %d", s.name, s.last, at)
		}
		s.last = at
	}
	fmt.Fprintf(out, "%.3f %s: ", float64(at)/1e6, s.name)
	switch name := text(e[23]); number(e[9]) {
	case 1:
		s.open = append(s.open, name)
		fmt.Fprintf(out, "begin %s", name)
	case 2:
		if len(s.open) == 0 {
			t.Fatalf("%s: an end without a beginning", s.name)
		}
		fmt.Fprintf(out, "end %s", s.open[len(s.open)-1])
		s.open = s.open[:len(s.open)-1]
	case 3:
		out.WriteString(name)
	case 4:
		fmt.Fprint(out, int64(number(e[30])))
	default:
		t.Errorf("%s: an event of type %d", s.name, number(e[9]))
	}
	for _, a := range e[4] {
		arg := fields(t, a.([]byte))
		switch {
		case arg[6] != nil:
			fmt.Fprintf(out, ", %s=%q", text(arg[10]), text(arg[6]))
		case arg[5] != nil:
			fmt.Fprintf(out, ", %s=%g", text(arg[10]), math.Float64frombits(number(arg[5])))
		default:
			fmt.Fprintf(out, ", %s=%d", text(arg[10]), int64(number(arg[4])))
		}
	}
	out.WriteByte('\n')
}
