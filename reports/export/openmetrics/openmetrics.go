// Package openmetrics writes what a log says as OpenMetrics text, which Prometheus reads.
//
// If the log gives times with dates, each reading is a point with its time. Otherwise there is one
// point without a time for each series: its last reading, as a scrape at the end of the run would
// have found it.
package openmetrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/reports/export"
	"vramsoak/reports/metrics"
	"vramsoak/reports/sink"
)

// A Writer writes OpenMetrics text.
type Writer struct {
	out    *bufio.Writer
	spool  spool
	err    error // the first error of the spool
	timed  bool
	series map[key]*series
	order  []*series
	logs   map[string]bool
}

// A key says which series a point belongs to. Labels that the metric lacks are zero.
type key struct {
	metric *metrics.Metric
	log    string
	lane   record.Lane
	ledger string
	source string
	status string
	times  string
}

type series struct {
	key
	*points
}

// NewWriter returns a writer of OpenMetrics text. The caller must call Close after the last event;
// it writes the text.
func NewWriter(w io.Writer) *Writer {
	return &Writer{
		out: bufio.NewWriterSize(w, 64<<10), spool: spool{limit: spoolLimit},
		series: map[key]*series{}, logs: map[string]bool{},
	}
}

// Add takes an event. An error is kept for Close.
func (w *Writer) Add(e export.Event) {
	w.timed = e.Clock == export.Dated
	if !w.logs[e.Log] {
		w.logs[e.Log] = true
		times := "none"
		if w.timed {
			times = "dated"
		}
		w.set(e, key{metric: &metrics.LogInfo, times: times}, 1)
	}
	switch e.Kind {
	case export.Level:
		k := key{metric: e.Metric, lane: e.Lane, ledger: e.Ledger, source: e.Source}
		w.set(e, k, e.Value)
		switch e.Metric {
		case &metrics.Memory:
			k.metric = &metrics.HighWater
			w.raise(e, k, e.Value)
		case &metrics.FileEnd:
			// Prometheus forgets a value after five minutes, so give it again.
			k.metric, k.source = &metrics.HighWater, metrics.Checkpoint
			w.set(e, k, w.find(e, k).last.value)
		}
	case export.EndFile:
		status := string(e.Status)
		if status == "" {
			status = "unknown"
		}
		w.count(e, key{metric: &metrics.FilesDone, status: status})
		if e.Seconds > 0 {
			w.set(e, key{metric: &metrics.FileSeconds}, int64(math.Round(e.Seconds*1000)))
		}
	case export.Failure:
		w.count(e, key{metric: &metrics.OutOfMemory})
	case export.Restart:
		w.count(e, key{metric: &metrics.Restarts})
	}
}

// set adds a point to a series.
func (w *Writer) set(e export.Event, k key, value int64) {
	p := w.find(e, k)
	next := point{e.Nanos / 1e6, value}
	if !w.timed {
		p.last = next
		return
	}
	if err := w.spool.add(p.points, next); w.err == nil {
		w.err = err
	}
}

// count adds 1 to a counter.
func (w *Writer) count(e export.Event, k key) { w.set(e, k, w.find(e, k).last.value+1) }

// raise adds a point to a series that only rises, if the value is higher than all before.
func (w *Writer) raise(e export.Event, k key, value int64) {
	if w.find(e, k).last.value < value {
		w.set(e, k, value)
	}
}

func (w *Writer) find(e export.Event, k key) *series {
	k.log = e.Log
	s := w.series[k]
	if s == nil {
		s = &series{k, w.spool.newSeries()}
		w.series[k], w.order = s, append(w.order, s)
	}
	return s
}

// Close writes the text. It returns the first error that came up.
func (w *Writer) Close() error {
	err := w.err
	for _, m := range metrics.All {
		if err == nil {
			err = w.family(m)
		}
	}
	if err == nil {
		_, err = w.out.WriteString("# EOF\n")
	}
	if err == nil {
		err = w.out.Flush()
	}
	return errors.Join(err, w.spool.close())
}

// family writes the series of a metric, if it has any.
func (w *Writer) family(m *metrics.Metric) error {
	begun := false
	for _, s := range w.order {
		if s.metric != m {
			continue
		}
		if !begun {
			begun = true
			if err := w.head(m); err != nil {
				return err
			}
		}
		if err := w.write(s); err != nil {
			return err
		}
	}
	return nil
}

// head writes what OpenMetrics wants to know of a metric.
func (w *Writer) head(m *metrics.Metric) error {
	name := strings.TrimSuffix(strings.TrimSuffix(m.Name, "_total"), "_info")
	_, err := fmt.Fprintf(w.out, "# TYPE %s %s\n", name, m.Kind)
	if err == nil && m.Unit != "" {
		_, err = fmt.Fprintf(w.out, "# UNIT %s %s\n", name, m.Unit)
	}
	if err == nil {
		_, err = fmt.Fprintf(w.out, "# HELP %s %s\n", name, m.Help)
	}
	return err
}

// write writes the points of a series.
func (w *Writer) write(s *series) error {
	start := s.metric.Name + "{" + s.labels() + "} "
	var line []byte
	put := func(p point, timed bool) error {
		line = append(line[:0], start...)
		if s.metric.Unit == "seconds" {
			line = appendMillis(line, p.value)
		} else {
			line = strconv.AppendInt(line, p.value, 10)
		}
		if timed {
			line = appendMillis(append(line, ' '), p.millis)
		}
		_, err := w.out.Write(append(line, '\n'))
		return err
	}
	if !w.timed {
		return put(s.last, false)
	}
	return w.spool.each(s.points, func(p point) error { return put(p, true) })
}

// appendMillis appends a number of milliseconds as seconds: "1795406403.123".
func appendMillis(b []byte, millis int64) []byte {
	return strconv.AppendFloat(b, float64(millis)/1000, 'f', 3, 64)
}

// labels returns the labels of a series, as they stand between the braces.
func (k *key) labels() string {
	var b strings.Builder
	add := func(name, value string) {
		if value == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + `="` + escape(value) + `"`)
	}
	add(metrics.LabelLog, k.log)
	for _, name := range k.metric.Labels {
		add(name, k.label(name))
	}
	return b.String()
}

func (k *key) label(name string) string {
	switch name {
	case metrics.LabelLedger:
		return k.ledger
	case metrics.LabelDevice:
		return strconv.Itoa(k.lane.Device)
	case metrics.LabelRank:
		return strconv.Itoa(k.lane.Rank)
	case metrics.LabelSource:
		return k.source
	case metrics.LabelStatus:
		return k.status
	}
	return k.times
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// escape returns a text from outside as the value of a label. [sink.Line] leaves no newline, and
// only UTF-8.
func escape(s string) string { return escapes.Replace(sink.Line(s)) }
