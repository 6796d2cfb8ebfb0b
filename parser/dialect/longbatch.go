package dialect

import (
	"bytes"
	"slices"

	"vramsoak/parser/dialect/failure"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// longBatchDialect reads a program that ingests hours of recordings, with speech recognition, voice
// embeddings and text embeddings on one card (Artexis10/dr-chaffee-ai:
// backend/scripts/common/enhanced_asr.py, voice_enrollment_optimized.py, embeddings.py;
// backend/services/embeddings_service.py; utils/monitoring):
//
//	2025-10-03 12:00:00,123 - INFO - scripts.common.enhanced_asr - Starting enhanced ASR transcription: /tmp/asr/a.wav
//	2025-10-03 12:04:10,456 - INFO - scripts.common.enhanced_asr - VRAM usage: 3.21GB (peak: 4.56GB)
//	⚠️  GPU memory: 1.2GB / 16.0GB
//	📊 CUDA memory allocated: 2.34 GB
//	📊 CUDA memory after reranker: 3.45 GB
//	⏰ 12:00:00 | ⏱️ 3.5m | 🎯 GPU: 92.0% | 💾 VRAM: 9.2/15.9GB (57.5%) | 🖥️ CPU: 35.0% | 🧠 RAM: 60.1%
//	   GPU 0: 92% util, 85.4% VRAM (13,921MB/16,303MB), 71°C
//
// A file starts where its transcription starts. The ends of files are not read: several files may
// be in work at once, and the words for an end do not name the file. "VRAM usage" is printed once
// for each file, behind its transcription. "GPU memory: 1.2GB / 16.0GB" is printed at a CUDA error,
// and divides by 1e9. All other lines divide by 1024^3. The monitor prints the driver's numbers.
//
// Estimates and percentages give no reading:
//
//	💾 Peak VRAM usage: 12.5GB
//	🚀 RTX5080 SM=95% 💾 VRAM=85.1% temp=67°C power=250W queues: io=3 asr=2 db=1
var longBatchDialect = scan.Dialect{
	Name: "long-batch",
	Needles: scan.EventNeedles(
		longBatchEvents,
		append([]string{
			memoryLabel,
			"VRAM usage: ",
			"Starting enhanced ASR transcription: ",
			"CUDA memory allocated: ",
			"CUDA memory after reranker: ",
			"💾 VRAM: ",
			"% VRAM (",
			"CUDA OOM ",
			batchFailed,
		}, pipelineNeedles()...)...,
	),
	Read: func(l *scan.Line, at int) int {
		text := l.Text[at:]
		is := func(needle string) bool { return bytes.HasPrefix(text, []byte(needle)) }
		switch {
		case is(memoryLabel):
			return readErrorMemory(l, at)
		case is("VRAM usage: "):
			return readVRAMUsage(l, at)
		case is("Starting enhanced ASR transcription: "):
			return readTranscriptionStart(l, at)
		case is("CUDA memory allocated: "):
			return readCUDAMemory(l, at, "CUDA memory allocated")
		case is("CUDA memory after reranker: "):
			return readCUDAMemory(l, at, "CUDA memory after reranker")
		case is("💾 VRAM: "):
			return readMonitorVRAM(l, at)
		case is("% VRAM ("):
			return readDeviceVRAM(l, at)
		case is("CUDA OOM "):
			return readOOMFallback(l, at)
		case is(batchFailed):
			return readBatchFailed(l, at)
		}
		if end := readPipelineEvent(l, at); end > 0 {
			return end
		}
		return scan.ReadEvent(l, at, longBatchEvents)
	},
}

var longBatchEvents = []scan.EventWording{
	{Text: "Batch processing failed, falling back to sequential", Kind: record.EventFallback},
	{Text: "Falling back to sequential extraction", Kind: record.EventFallback},
	{Text: "Attempting GPU recovery and retry with smaller batch", Kind: record.EventFallback},
	{Text: "GPU loading failed, falling back to CPU", Kind: record.EventFallback},
	// Our own gpupipeline prints these lines, too: "... no diarization for this file".
	{Text: "Falling back to the fast path: ", Kind: record.EventFallback, Lost: "diarization"},
	{
		Text: "Continuing without text embeddings", Kind: record.EventFallback,
		Lost: "text embeddings",
	},
}

// readErrorMemory reads "GPU memory: 1.2GB / 16.0GB", in decimal GB.
func readErrorMemory(l *scan.Line, at int) (end int) {
	text := l.Text[at+len(memoryLabel):]
	n, behind, ok := lex.CutNumber(text)
	allocated, rest, okSize := lex.CutDecimalSize(text)
	rest, slash := lex.CutPrefix(rest, " / ")
	total, rest, okTotal := lex.CutDecimalSize(rest)
	if !ok || !okSize || !slash || !okTotal || n.Decimals != 1 ||
		!bytes.HasPrefix(behind, []byte("GB")) || allocated.Bytes < 0 || total.Bytes <= 0 {
		return 0
	}
	c := l.Checkpoint(at, "GPU memory")
	c.Sampled = true
	c.Set(record.Allocated, allocated)
	c.Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// readVRAMUsage reads "VRAM usage: 3.21GB (peak: 4.56GB)". Older scripts print no peak. If the
// word "Peak" or "Expected" precedes, the size is an estimate (a number of workers times a
// constant) and is not read.
func readVRAMUsage(l *scan.Line, at int) (end int) {
	text := l.Text[at+len("VRAM usage: "):]
	before := l.Text[:at]
	if bytes.HasSuffix(before, []byte("💾 Peak ")) {
		return len(l.Text) // other programs measure what they print with these words
	}
	if bytes.HasSuffix(before, []byte("Peak ")) || bytes.HasSuffix(before, []byte("Expected ")) {
		return 0
	}
	level, rest, ok := lex.CutSize(text, 0)
	peak, hasPeak := lex.CutPrefix(rest, " (peak: ")
	switch {
	case !lex.BeginsWithNumber(text), !lex.IsTornSize(text) && (!ok || level.Bytes < 0):
		return 0
	case !ok || level.Bytes < 0:
		l.Bad(at, "a size such as 3.21GB", "the line was cut")
		return len(l.Text)
	case !hasPeak && len(bytes.TrimSpace(rest)) > 0 && bytes.HasPrefix([]byte(" (peak: "), rest):
		l.Bad(len(l.Text)-len(rest), "(peak: 4.56GB)", "the line was cut")
	}
	c := l.Checkpoint(at, "VRAM usage")
	c.Set(record.Allocated, level)
	if !hasPeak {
		return len(l.Text) - len(rest)
	}
	size, rest, ok := lex.CutSize(peak, 0)
	if !ok || size.Bytes < 0 {
		l.Bad(len(l.Text)-len(peak), "a size such as 4.56GB after \"peak:\"", "the line was cut")
		return len(l.Text)
	}
	c.Set(record.Peak, size)
	return len(l.Text) - len(rest)
}

// readTranscriptionStart reads the start of a file: "Starting enhanced ASR transcription:
// /tmp/asr/a.wav".
func readTranscriptionStart(l *scan.Line, at int) (end int) {
	path := bytes.TrimSpace(l.Text[at+len("Starting enhanced ASR transcription: "):])
	if len(path) == 0 || len(path) > scan.NameMax || source.IsTemplate(path) {
		return 0
	}
	l.Add(record.FileStart{Header: l.Header(at), Pipeline: true, Path: l.Str(path)})
	return len(l.Text)
}

// readCUDAMemory reads the level that the embeddings service prints. The parameter name is the
// text before the colon, and becomes the checkpoint's name.
func readCUDAMemory(l *scan.Line, at int, name string) (end int) {
	s, rest, ok := lex.CutSize(l.Text[at+len(name)+len(": "):], 0)
	if !ok || s.Bytes < 0 {
		return 0
	}
	l.Checkpoint(at, name).Set(record.Allocated, s)
	return len(l.Text) - len(rest)
}

// readMonitorVRAM reads the monitor's "🎯 GPU: 92.0% | 💾 VRAM: 9.2/15.9GB (57.5%)". Another
// monitor prints the first percentage without decimals. That monitor shows the allocator of its
// own process, which holds nothing, so its line is not read.
func readMonitorVRAM(l *scan.Line, at int) (end int) {
	_, load, ok := bytes.Cut(l.Text[max(0, at-40):at], []byte("GPU: "))
	n, _, okLoad := lex.CutNumber(load)
	if !ok || !okLoad || n.Decimals != 1 {
		return 0
	}
	text := l.Text[at+len("💾 VRAM: "):]
	used, rest, ok := lex.CutNumber(text)
	rest, slash := lex.CutPrefix(rest, "/")
	total, rest, okTotal := lex.CutSize(rest, 0)
	if !ok || !slash || !okTotal || total.Bytes <= 0 || used.Digits < 0 {
		return 0
	}
	size, fits := used.Times(record.GiB)
	if !fits {
		return 0
	}
	c := l.Checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(record.Used, size)
	c.Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// readDeviceVRAM reads "GPU 0: 92% util, 85.4% VRAM (13,921MB/16,303MB)".
func readDeviceVRAM(l *scan.Line, at int) (end int) {
	used, rest, ok := cutGroupedMB(l.Text[at+len("% VRAM ("):])
	rest, slash := lex.CutPrefix(rest, "/")
	total, rest, okTotal := cutGroupedMB(rest)
	if !ok || !slash || !okTotal || total.Bytes <= 0 {
		return 0
	}
	c := l.Checkpoint(at, "GPU")
	c.Sampled = true
	if i := bytes.LastIndex(l.Text[:at], []byte("GPU ")); i >= 0 {
		c.Lane.Device, _, _ = lex.CutInt(l.Text[i+len("GPU "):])
	}
	c.Set(record.Used, used)
	c.Set(record.Total, total)
	return len(l.Text) - len(rest)
}

// batchFailed precedes the error of a batch.
const batchFailed = "Batch processing failed: "

// readBatchFailed reads a failed allocation that ended a batch: "Batch processing failed: CUDA
// error: out of memory".
func readBatchFailed(l *scan.Line, at int) (end int) {
	message := at + len(batchFailed)
	i := bytes.Index(lex.FirstBytes(l.Text[message:], 128), []byte("out of memory"))
	if i < 0 {
		return 0
	}
	if end = failure.ReadOutOfMemory(l, message+i); end == 0 {
		return 0
	}
	if o, ok := l.Last().(record.OutOfMemory); ok {
		o.Caught = true
		l.Undo()
		l.Put(o)
	}
	return end
}

// readOOMFallback reads a line with a failed allocation and the fallback that the program takes.
// The program does not print the allocator's message:
//
//	⚠️  CUDA OOM during voice enrollment, using fallback fast-path
//	⚠️ CUDA OOM during batch extraction, skipping voice embeddings for this cluster
//	⚠️  CUDA OOM loading bge-reranker-large, falling back to base
//
// If the line names no fallback, the failed allocation is a record without a fallback event. If the
// line has a colon, the allocator's message follows and package failure reads it:
//
//	CUDA OOM during embedding generation: CUDA out of memory
func readOOMFallback(l *scan.Line, at int) (end int) {
	text := l.Text[at+len("CUDA OOM "):]
	begins := func(word string) bool { return bytes.HasPrefix(text, []byte(word)) }
	if l.Head(at).InSource() ||
		!slices.ContainsFunc([]string{"during ", "loading ", "on ", "while ", "at "}, begins) {
		return 0
	}
	for _, fallback := range []struct{ text, lost string }{
		{", using fallback fast-path", "diarization"},
		{", skipping diarization", "diarization"},
		{", skipping speaker diarization", "diarization"},
		{", skipping voice embeddings", "voice embeddings"},
		{", falling back to ", ""},
	} {
		if bytes.Contains(text[:min(len(text), 200)], []byte(fallback.text)) {
			l.Add(record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)})
			l.Add(record.Event{
				Header: l.Header(at), Kind: record.EventFallback, Text: l.Message(at), Lost: fallback.lost,
			})
			return len(l.Text)
		}
	}
	_, clause, found := bytes.Cut(bytes.ToLower(text), []byte(", "))
	says := func(word string) bool { return bytes.Contains(clause, []byte(word)) }
	noFallback := !found ||
		slices.ContainsFunc([]string{"no fallback", "fail", "abort", "giving up", "exit"}, says)
	remark := failure.IsRemark(l.Text, at) || failure.IsAbout(l.Text, at, at+len("CUDA OOM")) ||
		bytes.HasSuffix(l.Text[:at], []byte("fallback on ")) ||
		bytes.Contains(text[:min(len(text), 200)], []byte(" may be avoided"))
	if noFallback && bytes.IndexByte(text, ':') < 0 && !remark {
		l.Add(record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)})
		return len(l.Text)
	}
	return 0
}
