package record

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Prefixes of the lines that vramsoak and its pipelines write.
const (
	// MemoryPrefix marks a checkpoint. Transcription pipelines use the same prefix.
	MemoryPrefix = "[GPU Memory]"
	// HarnessPrefix begins every line of the harness.
	HarnessPrefix = "[vramsoak]"
	// ProtocolPrefix begins the lines with which a pipeline names the file that it works on:
	//
	//	[pipeline] file-start path="audio/0001.wav"
	//	[pipeline] file-end path="audio/0001.wav" status=ok seconds=1.25
	//
	// A pipeline need not print these lines. In a log without them, a file begins at each
	// checkpoint that has the name of the log's first checkpoint.
	ProtocolPrefix = "[pipeline]"
	// SegmentsPrefix begins the lines of a [SegmentMap].
	SegmentsPrefix = ProtocolPrefix + " segments "
)

// TimeLayout is the layout of times in the lines that vramsoak writes: UTC, to the millisecond.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// AppendLine appends the checkpoint as one log line, without a newline:
//
//	2026-11-20T02:00:03.123Z [GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%) |
//	    Reserved: 7.50GB (31.3%) | Free: 16.77GB | Total: 24.00GB | allocated=7763421184
//	    reserved=8053063680 total=25769803776 device=0
//
// The fields in GB are for people. AppendLine leaves out the fields of quantities that the
// reading does not have. The fields in bytes at the end hold every quantity except Free, which a
// reader can compute from the others.
func (c *Checkpoint) AppendLine(b []byte) []byte {
	if !c.Time.IsZero() {
		b = c.Time.UTC().AppendFormat(b, TimeLayout)
		b = append(b, ' ')
	}
	b = append(b, MemoryPrefix...)
	b = append(b, ' ')
	b = append(b, oneLine(c.Name)...)
	b = append(b, ": "...)
	total, _ := c.Get(Total)
	allocated, hasAllocated := c.Get(Allocated)
	reserved, hasReserved := c.Get(Reserved)
	gib := func(name string, bytes int64, percent bool) {
		b = fmt.Appendf(b, "%s: %.2fGB", name, float64(bytes)/float64(GiB))
		if percent && total.Bytes > 0 {
			b = fmt.Appendf(b, " (%.1f%%)", 100*float64(bytes)/float64(total.Bytes))
		}
		b = append(b, " | "...)
	}
	if hasAllocated {
		gib("Allocated", allocated.Bytes, true)
	}
	if hasReserved {
		gib("Reserved", reserved.Bytes, true)
	}
	if used, ok := c.Get(Used); ok {
		gib("Used", used.Bytes, true)
	}
	if total.Bytes > 0 {
		if hasAllocated {
			gib("Free", total.Bytes-allocated.Bytes, false)
		}
		gib("Total", total.Bytes, false)
	}
	for q, s := range c.All() {
		if q != Free { // a reader can compute Free from the other quantities
			b = fmt.Appendf(b, "%s=%d ", q, s.Bytes)
		}
	}
	b = fmt.Appendf(b, "device=%d", c.Lane.Device)
	if c.Lane.Rank != 0 {
		b = fmt.Appendf(b, " rank=%d", c.Lane.Rank)
	}
	if c.Stream != "" {
		b = AppendField(b, "stream", c.Stream)
	}
	return b
}

// AppendLine appends the record as a line of the harness, or of the pipeline if Pipeline is set.
func (r FileStart) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, r.Pipeline, "file-start")
	if r.Index != 0 {
		b = AppendField(b, "index", strconv.Itoa(r.Index))
	}
	b = AppendField(b, "path", r.Path)
	if r.AudioSeconds != 0 {
		b = AppendField(b, "audio_seconds", seconds(r.AudioSeconds))
	}
	return b
}

// AppendLine appends the record as a line of the harness, or of the pipeline if Pipeline is set.
func (r FileEnd) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, r.Pipeline, "file-end")
	if r.Index != 0 {
		b = AppendField(b, "index", strconv.Itoa(r.Index))
	}
	b = AppendField(b, "path", r.Path)
	b = AppendField(b, "status", string(r.Status))
	b = AppendField(b, "seconds", seconds(r.Seconds))
	if r.Error != "" {
		b = AppendField(b, "error", r.Error)
	}
	return b
}

// AppendLine appends the record as a line of the harness.
func (r RunStart) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "run-start")
	b = AppendField(b, "files", strconv.Itoa(r.Files))
	b = AppendField(b, "feed", r.Feed)
	b = AppendField(b, "version", r.Version)
	b = AppendField(b, "command", r.Command)
	if r.ID != "" {
		b = AppendField(b, "id", r.ID)
	}
	if r.Policy != "" {
		b = AppendField(b, "policy", r.Policy)
	}
	if r.Until > 0 {
		b = AppendField(b, "until", seconds(r.Until))
	}
	if r.FailFast {
		b = AppendField(b, "fail_fast", "true")
	}
	if r.Workers > 0 {
		b = AppendField(b, "workers", strconv.Itoa(r.Workers))
		b = AppendField(b, "gpu", strconv.Itoa(r.GPU))
	}
	if r.Shards > 0 {
		b = AppendField(b, "shard", strconv.Itoa(r.Shard))
		b = AppendField(b, "shards", strconv.Itoa(r.Shards))
		b = AppendField(b, "of", strconv.Itoa(r.Of))
		b = AppendField(b, "batch", r.Batch)
		if r.Run != "" {
			b = AppendField(b, "run", r.Run)
		}
		b = r.appendFields(b)
	}
	return b
}

func (o Owner) appendFields(b []byte) []byte {
	b = AppendField(b, "lease", strconv.Itoa(o.Lease))
	return AppendField(b, "node", o.Node)
}

// AppendLine appends the record as a line of the harness.
func (r Sample) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "sample")
	b = AppendField(b, "pid", strconv.Itoa(r.PID))
	if used, ok := r.Get(Used); ok {
		b = AppendField(b, "device", strconv.Itoa(r.Lane.Device))
		b = AppendField(b, "used", strconv.FormatInt(used.Bytes, 10))
		b = AppendField(b, "total", strconv.FormatInt(r.Bytes(Total), 10))
		b = AppendField(b, "source", r.Source)
		if r.DeviceUsed > 0 {
			b = AppendField(b, "device_used", strconv.FormatInt(r.DeviceUsed, 10))
		}
		if r.Others > 0 {
			b = AppendField(b, "others", strconv.FormatInt(r.Others, 10))
		}
		if r.Pool != "" {
			b = AppendField(b, "pool", r.Pool)
		}
	}
	b = AppendField(b, "rss", strconv.FormatInt(r.RSS, 10))
	return r.Held.appendFields(b)
}

// AppendLine appends the record as a line of the harness.
func (r Exit) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "exit")
	b = AppendField(b, "pid", strconv.Itoa(r.PID))
	b = AppendField(b, "code", strconv.Itoa(r.Code))
	if r.Signal != "" {
		b = AppendField(b, "signal", r.Signal)
	}
	if r.Reason != ExitByItself {
		b = AppendField(b, "reason", string(r.Reason))
	}
	if r.Restarts > 0 {
		b = AppendField(b, "restarts", strconv.Itoa(r.Restarts))
	}
	if r.Error != "" {
		b = AppendField(b, "error", r.Error)
	}
	return b
}

// AppendLine appends the record as a line of the harness.
func (r Orphan) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "orphan")
	b = AppendField(b, "pid", strconv.Itoa(r.PID))
	b = AppendField(b, "command", r.Command)
	b = AppendField(b, "rss", strconv.FormatInt(r.RSS, 10))
	return AppendField(b, "ended", strconv.FormatBool(r.Ended))
}

// AppendLine appends the record as a line of the harness.
func (r Resume) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "resume")
	b = AppendField(b, "index", strconv.Itoa(r.Index))
	b = AppendField(b, "cut", strconv.FormatInt(r.Cut, 10))
	b = AppendField(b, "reason", r.Reason)
	if r.Lease > 0 {
		b = r.appendFields(b)
		b = AppendField(b, "after", strconv.FormatInt(r.After, 10))
	}
	return b
}

// AppendLine appends the record as a line of the harness.
func (r RunEnd) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "run-end")
	b = AppendField(b, "files", strconv.Itoa(r.Files))
	b = AppendField(b, "seconds", seconds(r.Seconds))
	b = AppendField(b, "reason", r.Reason)
	if r.Error != "" {
		b = AppendField(b, "error", r.Error)
	}
	return b
}

// AppendHead appends the beginning of a line: its prefix, the kind of the record and the time.
// The prefix is [ProtocolPrefix] if pipeline is set, else [HarnessPrefix].
func AppendHead(b []byte, h Header, pipeline bool, kind string) []byte {
	if pipeline {
		b = append(b, ProtocolPrefix...)
	} else {
		b = append(b, HarnessPrefix...)
	}
	b = append(b, ' ')
	b = append(b, kind...)
	if !h.Time.IsZero() {
		b = append(b, " time="...)
		b = h.Time.UTC().AppendFormat(b, TimeLayout)
	}
	return b
}

// commandMarks escapes the marks in a quoted value that CI systems would execute as commands:
// "##[error]" of GitHub, "##vso[" of Azure, and the section marks of GitLab. These systems look
// for such marks anywhere in a line.
var commandMarks = strings.NewReplacer("##", `#\x23`,
	"section_start:", `section_start\x3a`, "section_end:", `section_end\x3a`)

// AppendField appends " key=value". It quotes a value that is empty or contains a space, a quote,
// '=', a backslash, a byte that cannot be printed, or invalid UTF-8.
func AppendField(b []byte, key, value string) []byte {
	b = append(b, ' ')
	b = append(b, key...)
	b = append(b, '=')
	plain := value != "" && utf8.ValidString(value) && !strings.ContainsFunc(value, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '=' || r == '\\' || r == 0x7f || !strconv.IsPrint(r)
	})
	marked := strings.Contains(value, "##") || strings.Contains(value, "section_")
	switch {
	case plain && !marked:
		return append(b, value...)
	case !marked:
		return strconv.AppendQuote(b, value)
	}
	return append(b, commandMarks.Replace(strconv.Quote(value))...)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// oneLine replaces line breaks in a name with blanks.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}
