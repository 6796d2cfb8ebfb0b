package dialect

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// transcriptionDialect reads the checkpoint lines of transcription pipelines and of our own
// pipeline, in the format of each logger:
//
//	[GPU Memory] Before Transcription: Allocated: 0.23GB (1.0%) | Reserved: 0.68GB (2.8%) | Free: 23.32GB | Total: 24.00GB
//	[2026-01-10 02:14:07.123] [INFO] [GPU Memory] Before Transcription: Allocated: ...
//	2026-01-10 02:14:07,123 - pipeline - INFO - [GPU Memory] Before Transcription: Allocated: ...
//	  [GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)   ✅
//
// A checkpoint ends where the next one begins. If two writers tore their lines into one, both
// checkpoints are read, and there is an error for the lost text. The dialect also reads the
// pipelines' own warnings:
//
//	WARNING: GPU memory usage is critically high (87.1%). Consider reducing batch size or using a smaller model.
//	NOTICE: GPU memory usage is elevated (72.3%). Monitor for potential OOM conditions.
//	Failed to log GPU memory: CUDA driver shutting down
//
// and what they say that a cleanup gave back:
//
//	Memory recovered: 7.23GB (97%)
var transcriptionDialect = scan.Dialect{
	Name:    "transcription",
	Needles: append([]string{record.MemoryPrefix, highUsage, failedReading}, recoveredNeedles...),
	Read: func(l *scan.Line, at int) int {
		switch l.Text[at] {
		case record.MemoryPrefix[0]:
			return readCheckpoint(l, at)
		case highUsage[0]:
			return readHighUsage(l, at)
		case failedReading[0]:
			return readFailedReading(l, at)
		}
		return readRecovered(l, at)
	},
}

const (
	highUsage     = "GPU memory usage is "
	failedReading = "Failed to log GPU memory: "
)

// readCheckpoint reads the checkpoint whose "[GPU Memory]" begins at the offset `at`.
func readCheckpoint(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(record.MemoryPrefix):]
	end = len(l.Text)
	if next := bytes.Index(text, []byte(record.MemoryPrefix)); next >= 0 {
		text, end = text[:next], at+len(record.MemoryPrefix)+next
	}
	name, fields, ok := cutName(text)
	if !ok || len(name) > scan.NameMax {
		// Program source that prints checkpoints is neither a checkpoint nor a broken one:
		//	f"[GPU Memory] {stage_name}: Allocated: {allocated:.2f}GB ({allocated_pct:.1f}%) | "
		if bytes.ContainsAny(text, "{}") ||
			end == len(l.Text) && !looksCut(text) && len(text) <= scan.NameMax {
			for _, needle := range recoveredNeedles {
				if i := bytes.Index(text, []byte(needle)); i >= 0 {
					readRecovered(l, at+len(record.MemoryPrefix)+i)
				}
			}
			return end
		}
		l.BadCheckpoint(at, "a checkpoint's name, then \": Allocated: 7.23GB\"", text)
		return end
	}
	if source.IsTemplate(name) {
		return end
	}
	c := l.Checkpoint(at, l.Str(name))
	rest, bad := readFields(c, fields)
	c.Own = true // readTail changes Own if the line has source=
	bad = cmp.Or(bad, readTail(c, rest))
	if c.Len() == 0 {
		l.Undo()
		if source.IsTemplate(firstValue(fields)) {
			return end
		}
	}
	if bad != nil {
		l.BadCheckpoint(at, bad.Expected, bad.Found)
	}
	return end
}

// looksCut reports whether the text behind "[GPU Memory]" is a checkpoint in which no field can
// be read. The checkpoint may be cut off, as in the first line below, or have its fields in
// another order. The second line is only a remark, and looksCut returns false for it:
//
//	[GPU Memory] Before Whisper Cleanup: Allo
//	[GPU Memory] cache cleared
func looksCut(text []byte) bool {
	if allocatedNumber().Match(text) {
		return true
	}
	i := bytes.LastIndexByte(text, ':')
	return i > 0 &&
		strings.HasPrefix("allocated", strings.ToLower(string(bytes.TrimSpace(text[i+1:]))))
}

// allocatedNumber matches the text "After Whisper Cleanup allocated 0.18GB". It does not match
// "Deallocated 12 tensors".
var allocatedNumber = lex.Expression(`(?i)\ballocated\b\s*(?:[:=]|\d)`)

// usagePattern matches the text behind "GPU memory usage is ".
var usagePattern = lex.Expression(`^(critically high|elevated) \((\d+(?:\.\d+)?)%\)`)

// readHighUsage reads a warning that usage is high. The parameter at is the offset of highUsage,
// the words "GPU memory usage is ".
func readHighUsage(l *scan.Line, at int) (end int) {
	m := usagePattern().FindSubmatchIndex(l.Text[at+len(highUsage):])
	if m == nil {
		return 0
	}
	rest := l.Text[at+len(highUsage):]
	percent, err := strconv.ParseFloat(string(rest[m[4]:m[5]]), 64)
	if err != nil {
		return 0 // cannot happen: the pattern matches only numbers
	}
	level := "critical"
	if rest[m[2]] == 'e' {
		level = "notice"
	}
	l.Add(record.Warning{Header: l.Header(at), Level: level, Percent: percent, Text: l.Message(at)})
	return at + len(highUsage) + m[1]
}

// readFailedReading reads a warning that the pipeline could not read its memory.
func readFailedReading(l *scan.Line, at int) (end int) {
	if source.IsTemplate(l.Text[at:]) {
		return 0
	}
	l.Add(record.Warning{Header: l.Header(at), Level: "failed", Text: l.Message(at)})
	return len(l.Text)
}
