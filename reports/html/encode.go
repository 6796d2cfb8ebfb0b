package html

import (
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
)

// An encoder turns a judged timeline into the data of a page.
type encoder struct {
	doc     document
	tl      *timeline.Timeline
	rep     *check.Report
	of      *Collector
	clocks  map[string]*clock
	logs    map[string]int         // index in doc.Logs
	all     []*timeline.File       // as in doc.Files
	files   map[*timeline.File]int // index in doc.Files
	numbers []int                  // the number that charts show, of each file
}

func newEncoder(tl *timeline.Timeline, rep *check.Report, of *Collector) *encoder {
	e := &encoder{
		doc: document{
			Schema: schema, Names: []string{}, Logs: []logData{},
			Files:  fileTable{Path: []string{}, Status: []string{}, Error: []string{}},
			Tracks: []trackData{}, Events: []event{},
			Trends: []trendData{}, Findings: []findingPlace{}, Lead: -1, Segments: []mapSeries{},
		},
		tl: tl, rep: rep, of: of, logs: map[string]int{}, files: map[*timeline.File]int{},
	}
	of.addSampled(tl)
	e.doc.Devices = max(len(of.byPlace), len(of.tracks))
	e.clocks = of.clocks(tl)
	e.encodeFiles()
	for _, t := range of.tracks {
		e.doc.Tracks = append(e.doc.Tracks, e.track(t))
	}
	for _, n := range of.names.all {
		e.doc.Names = append(e.doc.Names, sink.Name(n))
	}
	e.encodeEvents()
	e.encodeTrends()
	return e
}

// addSampled adds an empty track for each device that only has samples of the harness, if the log
// has no checkpoints.
func (c *Collector) addSampled(tl *timeline.Timeline) {
	known := map[string]bool{}
	for _, t := range c.tracks {
		known[t.log] = true
	}
	for i := range tl.Samples {
		if s := &tl.Samples[i]; !known[s.Pos.Path] {
			c.trackOf(place{s.Pos.Path, s.Lane})
		}
	}
}

// log returns the index of a log in the document.
func (e *encoder) log(path string) int {
	i, known := e.logs[path]
	if !known {
		i = len(e.doc.Logs)
		e.logs[path] = i
		l := logData{Name: sink.Name(path)}
		if c := e.clocks[path]; c != nil {
			l.Timed, l.Origin, l.Cut, l.End = c.timed, c.origin, c.cut, c.end
		}
		e.doc.Logs = append(e.doc.Logs, l)
	}
	return i
}

// x returns the place of a line on the x axis of its log.
func (e *encoder) x(at record.Position) int64 {
	if c := e.clocks[at.Path]; c != nil {
		return c.at(at.Line)
	}
	return 0
}

func (e *encoder) encodeFiles() {
	t := &e.doc.Files
	e.all = slices.Collect(e.tl.InOrder())
	e.numbers = fileNumbers(e.all)
	for i, f := range e.all {
		e.files[f] = i
		t.Path = append(t.Path, sink.Name(f.Path))
		t.Number = append(t.Number, int64(e.numbers[i]))
		t.Status = append(t.Status, sink.Name(string(f.Status)))
		t.Error = append(t.Error, sink.Name(f.Error))
		t.Seconds = append(t.Seconds, ratio(f.Seconds, 1000))
		t.Audio = append(t.Audio, ratio(f.AudioSeconds, 1000))
		t.Log = append(t.Log, int64(e.log(f.Pos.Path)))
		t.Line = append(t.Line, int64(f.Pos.Line))
		t.Begin = append(t.Begin, e.x(f.Pos))
		t.End = append(t.End, e.x(f.EndPos))
	}
}

// fileNumbers returns the number of each file for the charts. This is the file's index in the batch
// if the indices ascend among the files that the same process worked on. Otherwise it is the file's
// position among them, from 1. Parts of the log between files get 0.
func fileNumbers(files []*timeline.File) []int {
	type group struct{ log, writer string }
	last, count, unusable := map[group]int{}, map[group]int{}, map[group]bool{}
	for _, f := range files {
		if g := (group{f.Pos.Path, f.Writer}); !f.Outside {
			unusable[g] = unusable[g] || f.Index <= last[g]
			last[g] = f.Index
		}
	}
	out := make([]int, len(files))
	for i, f := range files {
		if f.Outside {
			continue
		}
		g := group{f.Pos.Path, f.Writer}
		count[g]++
		if out[i] = f.Index; unusable[g] {
			out[i] = count[g]
		}
	}
	return out
}

func (e *encoder) track(t *track) trackData {
	t.square()
	ranks := slices.ContainsFunc(e.of.tracks, func(o *track) bool { return o.lane.Rank != 0 })
	d := trackData{
		Log: e.log(t.log), Label: sink.Name(label(t.lane, e.tl.Writers[t.lane.Rank], ranks)),
		Total: t.total, Digits: map[string]int64{}, All: t.number, AllFiles: t.rowCount,
		Rows:    rowTable{Idle: t.idle.byKey(), Highest: t.highest.byKey()},
		Samples: e.samples(t),
	}
	p := &d.Points
	p.Values, p.Failed = t.values.byKey(), []int{}
	for i := range t.points {
		at := &t.points[i]
		p.X = append(p.X, e.x(record.Position{Path: t.log, Line: at.line}))
		p.Number = append(p.Number, int64(at.number))
		p.File = append(p.File, int64(e.files[at.file]))
		p.Line = append(p.Line, int64(at.line))
		p.Name = append(p.Name, int64(at.name))
		p.Stage = append(p.Stage, orMissing(at.stage))
		p.Freed = append(p.Freed, orMissing(at.freed))
		if at.failed {
			p.Failed = append(p.Failed, i)
		}
	}
	for i := range t.rows {
		d.Rows.File = append(d.Rows.File, int64(e.files[t.rows[i].file]))
	}
	for _, q := range drawn {
		if _, shown := p.Values[q.String()]; shown {
			d.Digits[q.String()] = t.digits[q]
		}
	}
	return d
}

func orMissing(v int32) int64 {
	if v < 0 {
		return missing
	}
	return int64(v)
}

// samplesMax is how many samples of a track the page shows. Of more samples it keeps the extremes.
const samplesMax = 12_000

// samples returns the harness's readings that belong to a track.
func (e *encoder) samples(t *track) []samples {
	used := samples{Name: "device used (sampled)"}
	whole := samples{Name: "device used by all processes (sampled)"}
	rss := samples{Name: "host memory of the processes (sampled)"}
	ledgers := timeline.NewDriverLedgers(e.tl, []record.Lane{t.lane})
	add := func(to *samples, s *record.Sample, bytes int64) {
		to.X, to.Value = append(to.X, e.x(s.Pos)), append(to.Value, bytes)
	}
	for i := range e.tl.Samples {
		s := &e.tl.Samples[i]
		if s.Pos.Path != t.log {
			continue
		}
		device, sampled := ledgers.DeviceNumber(s.Run, t.lane)
		if size, ok := s.Get(record.Used); ok && sampled && s.Lane.Device == device {
			add(&used, s, size.Bytes)
			if all, ok := s.UsedOnDevice(); ok && s.Others > 0 {
				add(&whole, s, all)
			}
		}
		if s.RSS > 0 {
			add(&rss, s, s.RSS)
		}
	}
	out := []samples{}
	for _, s := range []samples{used, whole, rss} {
		if len(s.X) > 0 {
			s.thin()
			out = append(out, s)
		}
	}
	return out
}

func (s *samples) thin() {
	s.All = len(s.X)
	if s.All <= samplesMax {
		return
	}
	stride := 4 * s.All / samplesMax
	keep := keepExtremes(func(i int) int { return i }, s.All, stride, []column{s.Value},
		func(int) bool { return false })
	s.X, s.Value = compact(s.X, keep), compact(s.Value, keep)
}
