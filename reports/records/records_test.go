package records

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

// someRecords yields records of the kinds and quantities that the scripts of the command line lack.
func someRecords() iter.Seq2[record.Record, error] {
	at := func(line int, dialect string) record.Header {
		return record.Header{Pos: record.Position{Path: "run.log", Line: line}, Dialect: dialect}
	}
	sampled := record.Checkpoint{
		Header: at(1, "trainer"), Name: "step", Sampled: true,
		Lane: record.Lane{Device: 1},
	}
	sampled.Time = time.Date(0, 1, 1, 2, 0, 3, 0, time.UTC)
	sampled.Local, sampled.Dateless = true, true
	sampled.Set(record.Peak, record.Exact(3<<30))
	sampled.Set(record.PeakReserved, record.Exact(4<<30))
	sampled.Set(record.Free, record.Exact(1<<30))
	change := record.Change{Header: at(2, "laxai"), Name: "Memory freed"}
	change.Time = time.Date(0, 11, 20, 2, 0, 3, 5e6, time.UTC)
	change.Yearless = true
	change.Set(record.Allocated, record.Size{Bytes: -1 << 30, Resolution: 5})
	change.Set(record.Reserved, record.Exact(1<<20))
	buffer := record.Checkpoint{Header: at(3, "ggml"), Name: "CUDA0 KV\x1b[0m buffer"}
	buffer.Set(record.Buffer, record.Exact(2<<20))
	event := record.Event{
		Header: at(4, "laxai"), Kind: record.EventCacheCleared,
		Text: "CLEANUP: GPU memory cleared",
	}
	idle := record.Sample{Header: at(5, "vramsoak"), PID: 7, RSS: 1 << 20}
	used := record.Sample{Header: at(6, "vramsoak"), PID: 7, RSS: 1 << 20, Source: "process"}
	used.Set(record.Used, record.Exact(5))
	return func(yield func(record.Record, error) bool) {
		for _, rec := range []record.Record{sampled, change, buffer, event, idle, used} {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func TestRecords(t *testing.T) {
	for format, want := range map[string]string{
		"table": `      1  02:00:03.000  trainer         checkpoint     step                                    free 1.00 GiB  peak 3.00 GiB  peak reserved 4.00 GiB  device=1  sampled
      2  02:00:03.005  laxai           change         Memory freed                            allocated -1.00 GiB  reserved +1.00 MiB
      3                ggml            checkpoint     CUDA0 KV\x1b[0m buffer                  buffer 2.00 MiB
      4                laxai           event          CLEANUP: GPU memory cleared  event=cache-cleared
      5                vramsoak        sample         pid=7 rss=1048576
      6                vramsoak        sample         pid=7 rss=1048576 source=process
`,
		"csv": `path,line,time,dialect,kind,name,sampled,allocated,reserved,free,total,peak,peak_reserved,active,inactive_split,used,buffer,holds,pinned,more
run.log,1,02:00:03.000,trainer,checkpoint,step,true,,,1073741824,,3221225472,4294967296,,,,,,,device=1
run.log,2,--11-20T02:00:03.005Z,laxai,change,Memory freed,,-1073741824,1048576,,,,,,,,,,,
run.log,3,,ggml,checkpoint,CUDA0 KV\x1b[0m buffer,,,,,,,,,,,2097152,,,
run.log,4,,laxai,event,CLEANUP: GPU memory cleared,,,,,,,,,,,,,,event=cache-cleared
run.log,5,,vramsoak,sample,,,,,,,,,,,,,,,pid=7 rss=1048576
run.log,6,,vramsoak,sample,,,,,,,,,,,5,,,,pid=7 rss=1048576 source=process
`,
		"jsonl": `{"device":1,"dialect":"trainer","free":1073741824,"kind":"checkpoint","line":1,"name":"step","path":"run.log","peak":3221225472,"peak_reserved":4294967296,"rank":0,"sampled":true,"time":"02:00:03.000"}
{"allocated":-1073741824,"allocated_resolution":5,"device":0,"dialect":"laxai","kind":"change","line":2,"name":"Memory freed","path":"run.log","rank":0,"reserved":1048576,"time":"--11-20T02:00:03.005Z"}
{"buffer":2097152,"device":0,"dialect":"ggml","kind":"checkpoint","line":3,"name":"CUDA0 KV\u001b[0m buffer","path":"run.log","rank":0}
{"device":0,"dialect":"laxai","event":"cache-cleared","kind":"event","line":4,"name":"CLEANUP: GPU memory cleared","path":"run.log","rank":0}
{"device":0,"dialect":"vramsoak","kind":"sample","line":5,"path":"run.log","pid":7,"rss":1048576}
{"device":0,"dialect":"vramsoak","kind":"sample","line":6,"path":"run.log","pid":7,"rss":1048576,"source":"process","used":5}
`,
	} {
		var b bytes.Buffer
		counts, err := Write(&b, someRecords(), Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		const summary = "4 readings (ggml 1, laxai 1, trainer 1, vramsoak 1), 2 events"
		if got := counts.String(); got != summary {
			t.Errorf("%s: got %q, want %q", format, got, summary)
		}
	}
}

// A countingWriter counts the writes.
type countingWriter struct{ writes int }

func (w *countingWriter) Write(b []byte) (int, error) {
	w.writes++
	return len(b), nil
}

// TestRecordsLive: live records are written one by one, as they come.
func TestRecordsLive(t *testing.T) {
	w := &countingWriter{}
	seen := 0
	stream := func(yield func(record.Record, error) bool) {
		for rec, err := range someRecords() {
			if !yield(rec, err) {
				return
			}
			if seen++; w.writes != seen {
				t.Errorf("got %d writes after record %d", w.writes, seen)
			}
		}
	}
	if _, err := Write(w, stream, Options{Format: "table", Live: true}); err != nil {
		t.Fatal(err)
	}
}

func TestRecordCounts(t *testing.T) {
	for want, c := range map[string]Counts{
		"1,140 readings (transcription 1,120, out-of-memory 20), 12 events, 3 unreadable lines": {
			map[string]int{"out-of-memory": 20, "transcription": 1120}, 12, 3,
		},
		"0 readings, 1 event": {nil, 1, 0},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRecordsError: records before an error are still written.
func TestRecordsError(t *testing.T) {
	broken := errors.New("the disk is gone")
	var b bytes.Buffer
	counts, err := Write(&b, func(yield func(record.Record, error) bool) {
		_ = yield(record.Checkpoint{Name: "A"}, nil) && yield(nil, broken)
	}, Options{Format: "table"})
	if !errors.Is(err, broken) || len(counts.Readings) != 1 ||
		!strings.Contains(b.String(), "checkpoint     A") {
		t.Errorf("got %v, %v, %q", counts, err, b.String())
	}
	if _, err := Write(&b, someRecords(), Options{Format: "xml"}); err == nil {
		t.Error("got no error for an unknown format")
	}
}
