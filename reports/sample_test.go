package reports

import (
	"fmt"
	"time"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// A sample is a made batch, like a transcription pipeline's on a 24 GiB card: 0.1 GiB base, a 7.4 GiB model that is loaded
// and freed for every file, a small waveform.
type sample struct {
	files     int
	leak      int64 // bytes kept at each file
	keepFrom  int   // from this file on, Whisper Cleanup gives back a quarter; 0 is never
	crashAt   int   // the file that ends after three checkpoints; 0 is none
	total     int64
	model     int64
	device    bool // device samples
	timeless  bool // no times in the log
	printed   bool // two decimals of GiB, as the origin prints, and no exact bytes
	diarize   bool // a second stage with nested cleanups
	processes bool // a process for each file, and its RSS
}

var start = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)

func mib(n float64) int64 { return int64(n * float64(parser.MiB)) }
func gib(n float64) int64 { return int64(n * float64(parser.GiB)) }

// timeline makes the batch.
func (s sample) timeline() *parser.Timeline {
	if s.total == 0 {
		s.total = gib(24)
	}
	if s.model == 0 {
		s.model = gib(7.4)
	}
	b := builder{sample: s, tl: &parser.Timeline{}, now: start}
	if !s.timeless {
		b.line++
		b.tl.Runs = []parser.Run{{Start: parser.RunStart{Header: b.header(), Files: s.files, Command: "gpupipeline"}}}
	}
	for i := 1; i <= s.files; i++ {
		b.file(i)
	}
	if !s.timeless {
		b.line++
		b.tl.Runs[0].End = &parser.RunEnd{Header: b.header(), Files: s.files, Reason: "done"}
	}
	return b.tl
}

type builder struct {
	sample
	tl   *parser.Timeline
	f    *parser.File
	now  time.Time
	line int
	base int64 // kept from earlier files
	last int64 // the reserved level before
	seed uint32
}

func (b *builder) header() parser.Header {
	h := parser.Header{Pos: parser.Position{Path: "soak.log", Line: b.line}}
	if !b.timeless {
		h.Time = b.now
	}
	return h
}

// jitter is a number in [0, 1), the same on every run.
func (b *builder) jitter() float64 {
	b.seed = b.seed*1664525 + 1013904223
	return float64(b.seed>>8) / (1 << 24)
}

func (b *builder) file(index int) {
	b.line++
	length := 6 + 12*b.jitter() // seconds
	f := parser.File{
		Index: index, Path: fmt.Sprintf("audio/%04d.wav", index), AudioSeconds: length * 10,
		Status: parser.StatusOK, Supervised: !b.timeless, Pos: b.header().Pos, Start: b.header().Time,
	}
	if b.processes {
		f.Process = index - 1
	}
	if b.timeless {
		f.Path, f.Status, f.AudioSeconds = "", parser.StatusUnknown, 0
	}
	b.f = &f
	base := gib(0.1) + b.base
	wave := mib(40 + 60*b.jitter())
	b.point("Pipeline Initialization", base, 0)
	b.base += b.leak
	base += b.leak
	b.point("Before Audio Preprocessing", base, 0.1)
	b.point("After Audio Preprocessing", base+wave, 0.4)
	t := b.point("Before Transcription", base+wave, 0.05)
	if index == b.crashAt {
		f.Status, f.Error, f.Unpaired = parser.StatusCrashed, "signal: killed", []int{t}
		b.end(0.2)
		return
	}
	full := base + wave + b.model
	b.samples(base+wave, full, base+wave+b.kept(index), length)
	c := b.point("Before Whisper Cleanup", full, length)
	kept := b.kept(index)
	b.point("After Whisper Cleanup", base+wave+kept, 0.2)
	b.point("After Transcription (post-cleanup)", base+wave+kept, 0.01)
	f.Stages = append(f.Stages, parser.Stage{Name: "Audio Preprocessing", Before: 1, After: 2},
		parser.Stage{Name: "Transcription", Before: t, After: t + 3, Cleanups: 1})
	f.Cleanups = append(f.Cleanups, parser.Cleanup{Name: "Whisper Cleanup", Before: c, After: c + 1, Stage: 1, Last: true})
	if b.diarize {
		d := b.point("Before Diarization", base+wave+kept, 0.05)
		b.samples(base+wave+kept, base+wave+kept+b.model/3, base+kept, length/2)
		b.point("Before Waveform Cleanup", base+wave+kept+b.model/3, length/2)
		b.point("After Waveform Cleanup", base+kept+b.model/3, 0.1)
		b.point("Before Diarization Model Cleanup", base+kept+b.model/3, 0.1)
		b.point("After Diarization Model Cleanup", base+kept, 0.1)
		b.point("After Diarization (post-cleanup)", base+kept, 0.01)
		f.Stages = append(f.Stages, parser.Stage{Name: "Diarization", Before: d, After: d + 5, Cleanups: 2})
		f.Cleanups = append(f.Cleanups,
			parser.Cleanup{Name: "Waveform Cleanup", Before: d + 1, After: d + 2, Stage: 2},
			parser.Cleanup{Name: "Diarization Model Cleanup", Before: d + 3, After: d + 4, Stage: 2, Last: true})
	}
	c = b.point("Before Final Cleanup", base+wave+kept, 0.1)
	if !b.printed {
		f.Checkpoints[c].Set(parser.Holds, parser.Exact(wave+kept))
	}
	b.point("After Final Cleanup", gib(0.1)+b.base, 0.1)
	f.Cleanups = append(f.Cleanups, parser.Cleanup{Name: "Final Cleanup", Before: c, After: c + 1, Stage: -1})
	b.end(0.3)
}

// kept is what Whisper Cleanup does not give back.
func (b *builder) kept(index int) int64 {
	if b.keepFrom == 0 || index < b.keepFrom {
		return 0
	}
	return b.model * 3 / 4
}

// point adds a checkpoint after a while and returns its index.
func (b *builder) point(name string, allocated int64, after float64) int {
	b.now = b.now.Add(time.Duration(after * float64(time.Second)))
	b.line++
	reserved := allocated + allocated/40 + mib(60)
	if allocated < b.last {
		reserved += (b.last - allocated) / 30
	}
	b.last = allocated
	c := parser.Checkpoint{Header: b.header(), Name: name}
	for q, n := range map[parser.Quantity]int64{
		parser.Allocated: allocated, parser.Reserved: reserved, parser.Total: b.total,
	} {
		size := parser.Exact(n)
		if b.printed {
			size.Resolution = 5368709
			size.Bytes = (n + 5368709) / 10737418 * 10737418
		}
		c.Set(q, size)
	}
	b.f.Checkpoints = append(b.f.Checkpoints, c)
	b.tl.Checkpoints++
	return len(b.f.Checkpoints) - 1
}

// samples looks at the process five times a second while a model is loaded, works, and is freed.
func (b *builder) samples(from, to, after int64, length float64) {
	if !b.device && !b.processes {
		return
	}
	for at := 0.0; at < length+0.2; at += 0.2 {
		b.line++
		level := min(to, from+int64(float64(to-from)*at/2))
		if at > length {
			level = after
		}
		h := b.header()
		h.Time = h.Time.Add(time.Duration(at * float64(time.Second)))
		s := parser.Sample{Header: h, PID: 4242, RSS: level + mib(120+20*b.jitter())}
		if b.device {
			s.Source = "process"
			s.Set(parser.Used, parser.Exact(level+level/40+mib(420)))
			s.Set(parser.Total, parser.Exact(b.total))
		}
		b.tl.Samples = append(b.tl.Samples, s)
	}
}

func (b *builder) end(after float64) {
	b.now = b.now.Add(time.Duration(after * float64(time.Second)))
	b.line++
	b.f.EndPos, b.f.End = b.header().Pos, b.header().Time
	if !b.timeless {
		b.f.Seconds = b.f.End.Sub(b.f.Start).Seconds()
	}
	b.tl.Files = append(b.tl.Files, b.f)
}

// judged is the batch and the judgement of it.
func (s sample) judged() (*parser.Timeline, *check.Report) {
	tl := s.timeline()
	return tl, check.Of(tl, check.DefaultPolicy())
}
