package perfetto

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"vramsoak/reports/export"
	"vramsoak/reports/sink"
)

// The numbers of the fields that are written, from Perfetto's protobuf files. They never change.
// Each constant names its message.
const (
	tracePacket protowire.Number = 1 // of Trace, protos/perfetto/trace/trace.proto

	packetClockSnapshot   protowire.Number = 6 // of TracePacket, trace_packet.proto
	packetTimestamp       protowire.Number = 8
	packetSequence        protowire.Number = 10
	packetTrackEvent      protowire.Number = 11
	packetSequenceFlags   protowire.Number = 13
	packetTrackDescriptor protowire.Number = 60

	snapshotClock  protowire.Number = 1 // of ClockSnapshot, clock_snapshot.proto
	clockID        protowire.Number = 1 // of ClockSnapshot.Clock
	clockTimestamp protowire.Number = 2

	trackUUID        protowire.Number = 1 // of TrackDescriptor, track_descriptor.proto
	trackName        protowire.Number = 2
	trackParent      protowire.Number = 5
	trackCounter     protowire.Number = 8
	trackChildOrder  protowire.Number = 11
	trackRank        protowire.Number = 12
	trackDescription protowire.Number = 14

	counterUnit     protowire.Number = 3 // of CounterDescriptor, counter_descriptor.proto
	counterShareKey protowire.Number = 7

	eventAnnotation   protowire.Number = 4 // of TrackEvent, track_event.proto
	eventType         protowire.Number = 9
	eventTrack        protowire.Number = 11
	eventCategory     protowire.Number = 22
	eventName         protowire.Number = 23
	eventCounterValue protowire.Number = 30

	annotationInt    protowire.Number = 4 // of DebugAnnotation, debug_annotation.proto
	annotationDouble protowire.Number = 5
	annotationString protowire.Number = 6
	annotationName   protowire.Number = 10
)

// Values of enumerations.
const (
	typeSliceBegin = 1 // TrackEvent.Type
	typeSliceEnd   = 2
	typeInstant    = 3
	typeCounter    = 4

	unitCount     = 2 // CounterDescriptor.Unit
	unitSizeBytes = 3

	orderExplicit = 3 // TrackDescriptor.ChildTracksOrdering

	clockRealtime = 1 // BuiltinClock
	clockBoottime = 6 // the clock of timestamps, unless a packet names another

	stateCleared = 1 // TracePacket.SequenceFlags: SEQ_INCREMENTAL_STATE_CLEARED
)

// sequence is the number of the only sequence of packets. Any number but 0 will do.
const sequence = 1

// A message is the encoding of a protobuf message.
type message []byte

func (m message) number(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

// text appends a field with text from outside, which may have any bytes.
func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), sink.Name(s))
}

func (m message) message(field protowire.Number, inner message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), inner)
}

// arg appends a further fact about an event.
func (m message) arg(a export.Arg) message {
	in := message(nil).text(annotationName, a.Key)
	switch v := a.Value.(type) {
	case string:
		in = in.text(annotationString, v)
	case int64:
		in = in.number(annotationInt, uint64(v))
	case float64:
		in = protowire.AppendTag(in, annotationDouble, protowire.Fixed64Type)
		in = protowire.AppendFixed64(in, math.Float64bits(v))
	}
	return m.message(eventAnnotation, in)
}
