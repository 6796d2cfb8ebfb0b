// Package perfetto writes what a log says as a trace for Perfetto, the viewer of Chrome and
// Android.
//
// Each log is a group of tracks: its files and what happened to them, and for each device the
// stages and the ledgers. A trace is a stream of packets, so the writer keeps nothing but a number
// for each track. The viewer sorts the packets by time.
package perfetto

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"vramsoak/parser/record"
	"vramsoak/reports/export"
	"vramsoak/reports/metrics"
)

// A Writer writes a trace.
type Writer struct {
	out    *bufio.Writer
	err    error // the first error of out
	tracks map[track]*state
	packet message // reused for each packet
	begun  bool
}

// A track is a row of the viewer. The fields that are not used are zero. If only the log is set, it
// is the group of all tracks of the log.
type track struct {
	log    string
	kind   kind
	writer string
	lane   record.Lane
	metric *metrics.Metric
	ledger string
	source string
}

type kind int

const (
	ofLog kind = iota
	ofFiles
	ofNotes
	ofLane     // a group
	ofStages   // of a lane
	ofLevels   // a counter of a lane
	ofKept     // a group: what files leave behind in a lane
	ofMachine  // a group: what the processes hold of the machine
	ofResource // a counter of the machine
)

// A state is what the writer knows about a track that it has described.
type state struct {
	uuid uint64
	last int64 // time of the last event
}

// NewWriter returns a writer of a trace. The caller must call Close after the last event.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 64<<10), tracks: map[track]*state{}}
}

// Close ends the trace. It returns the first error that came up.
func (w *Writer) Close() error {
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}

// Add writes an event. An error is kept for Close.
func (w *Writer) Add(e export.Event) {
	if w.err != nil {
		return
	}
	if !w.begun {
		w.begun = true
		w.begin(e.Clock)
	}
	out := message(nil)
	at := track{log: e.Log}
	switch e.Kind {
	case export.Level:
		at = levelTrack(e)
		out = out.number(eventType, typeCounter).number(eventCounterValue, uint64(e.Value))
	case export.BeginStage, export.EndStage:
		at.kind, at.lane = ofStages, e.Lane
	case export.BeginFile, export.EndFile:
		at.kind, at.writer = ofFiles, e.Writer
	default:
		at.kind = ofNotes
	}
	switch e.Kind {
	case export.Level:
	case export.BeginStage, export.BeginFile:
		out = out.number(eventType, typeSliceBegin).text(eventName, e.Name)
	case export.EndStage, export.EndFile:
		out = out.number(eventType, typeSliceEnd)
	default:
		out = out.number(eventType, typeInstant).text(eventName, e.Name)
	}
	if category := categories[e.Kind]; category != "" {
		out = out.text(eventCategory, category)
	}
	for _, arg := range e.Args {
		out = out.arg(arg)
	}
	s, nanos := w.state(at, e.Clock), e.Nanos
	if at.kind != ofNotes { // a slice must not end before it begins
		s.last = max(s.last, nanos)
		nanos = s.last
	}
	w.write(nanos, packetTrackEvent, out.number(eventTrack, s.uuid))
}

// categories are the categories of events, by which the viewer can filter.
var categories = map[export.Kind]string{
	export.BeginStage: "stage", export.BeginFile: "file", export.Note: "note",
	export.Failure: "out-of-memory", export.Restart: "restart",
}

func levelTrack(e export.Event) track {
	at := track{
		log: e.Log, kind: ofResource, metric: e.Metric, ledger: e.Ledger, source: e.Source,
		lane: e.Lane,
	}
	if e.Ledger != "" || e.Metric == &metrics.DeviceSize {
		at.kind = ofLevels
	}
	return at
}

// begin writes the packet that says what time of day the first event has.
func (w *Writer) begin(clock export.Clock) {
	var both message
	if clock == export.Dated { // timestamps are nanoseconds since 1970
		for _, id := range []uint64{clockBoottime, clockRealtime} {
			both = both.message(snapshotClock, message(nil).number(clockID, id).number(clockTimestamp, 1))
		}
	}
	packet := message(nil).number(packetSequenceFlags, stateCleared)
	if both != nil {
		packet = packet.message(packetClockSnapshot, both)
	}
	w.send(packet)
}

// state returns the state of a track. It first describes the track if it is new, and the groups
// around it.
func (w *Writer) state(t track, clock export.Clock) *state {
	if s := w.tracks[t]; s != nil {
		return s
	}
	var parent uint64
	if t.kind != ofLog {
		parent = w.state(t.group(), clock).uuid
	}
	s := &state{uuid: uint64(len(w.tracks)) + 1}
	w.tracks[t] = s
	out := message(nil).number(trackUUID, s.uuid).text(trackName, t.name())
	if parent != 0 {
		out = out.number(trackParent, parent)
	}
	switch t.kind {
	case ofLevels, ofResource:
		out = out.message(trackCounter, t.counter())
	case ofLog:
		out = out.text(trackDescription, "The time axis: "+clock.String()+".")
		fallthrough
	case ofLane, ofMachine, ofKept:
		out = out.number(trackChildOrder, orderExplicit)
	}
	w.describe(out.number(trackRank, uint64(t.rank())))
	return s
}

// counter returns the description of a counter. All counters of bytes in a group share one scale.
func (t track) counter() message {
	if t.metric.Unit != "bytes" {
		return message(nil).number(counterUnit, unitCount)
	}
	return message(nil).number(counterUnit, unitSizeBytes).text(counterShareKey, "bytes")
}

func (w *Writer) describe(descriptor message) {
	w.send(message(nil).message(packetTrackDescriptor, descriptor))
}

// write writes a packet with a time.
func (w *Writer) write(nanos int64, field protowire.Number, data message) {
	w.packet = w.packet[:0].number(packetTimestamp, uint64(nanos)).message(field, data)
	w.send(w.packet)
}

func (w *Writer) send(packet message) {
	packet = packet.number(packetSequence, sequence)
	head := protowire.AppendTag(nil, tracePacket, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(packet)))
	for _, part := range [][]byte{head, packet} {
		if _, err := w.out.Write(part); err != nil && w.err == nil {
			w.err = err
		}
	}
}
