package parser

import (
	"bytes"
	"slices"
)

// longBatchDialect is that of an ingestion of hours of recordings with speech recognition, voice embeddings and text
// embeddings on one card (Artexis10/dr-chaffee-ai: backend/scripts/common/enhanced_asr.py, voice_enrollment_optimized.py,
// embeddings.py; backend/services/embeddings_service.py; utils/monitoring):
//
//	2025-10-03 12:00:00,123 - INFO - scripts.common.enhanced_asr - Starting enhanced ASR transcription: /tmp/asr/a.wav
//	2025-10-03 12:04:10,456 - INFO - scripts.common.enhanced_asr - VRAM usage: 3.21GB (peak: 4.56GB)
//	⚠️  GPU memory: 1.2GB / 16.0GB
//	📊 CUDA memory allocated: 2.34 GB
//	📊 CUDA memory after reranker: 3.45 GB
//	⏰ 12:00:00 | ⏱️ 3.5m | 🎯 GPU: 92.0% | 💾 VRAM: 9.2/15.9GB (57.5%) | 🖥️ CPU: 35.0% | 🧠 RAM: 60.1%
//	   GPU 0: 92% util, 85.4% VRAM (13,921MB/16,303MB), 71°C
//
// A file begins where its transcription does; several may be worked on at once, so that the words on how one ended are not
// told apart. "VRAM usage" comes once a file, when it is transcribed. The line with a slash is printed when a CUDA error
// is met, and divides by 1e9; all others divide by 1024^3. The monitor's are the driver's. Estimates give nothing:
//
//	💾 Peak VRAM usage: 12.5GB
//
// nor do percentages:
//
//	🚀 RTX5080 SM=95% 💾 VRAM=85.1% temp=67°C power=250W queues: io=3 asr=2 db=1
var longBatchDialect = dialect{
	name: "long-batch",
	needles: eventNeedles(longBatchEvents, memoryLabel, "VRAM usage: ", "Starting enhanced ASR transcription: ",
		"CUDA memory allocated: ", "CUDA memory after reranker: ", "💾 VRAM: ", "% VRAM (", "Progress: ", "CUDA OOM "),
	read: func(l *line, at int) int {
		text := l.text[at:]
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
		case is("Progress: "):
			return readBatchProgress(l, at)
		case is("CUDA OOM "):
			return readOOMFallback(l, at)
		}
		return readEvent(l, at, longBatchEvents)
	},
}

var longBatchEvents = []eventWording{
	{"Cleared GPU cache ", EventCacheCleared, ""}, // "🧹 Cleared GPU cache before ASR", "... after voice enrollment"
	{"Batch processing failed, falling back to sequential", EventFallback, ""},
	{"Falling back to sequential extraction", EventFallback, ""},
	{"Attempting GPU recovery and retry with smaller batch", EventFallback, ""},
	{"GPU loading failed, falling back to CPU", EventFallback, ""},
	{"Falling back to the fast path: ", EventFallback, ""}, // gpupipeline, which else uses these words too
}

// readErrorMemory reads "GPU memory: 1.2GB / 16.0GB", in decimal GB.
func readErrorMemory(l *line, at int) (end int) {
	text := l.text[at+len(memoryLabel):]
	n, behind, ok := cutNumber(text)
	allocated, rest, okSize := cutDecimalSize(text)
	rest, slash := cutPrefix(rest, " / ")
	total, rest, okTotal := cutDecimalSize(rest)
	if !ok || !okSize || !slash || !okTotal || n.decimals != 1 || !bytes.HasPrefix(behind, []byte("GB")) ||
		allocated.Bytes < 0 || total.Bytes <= 0 {
		return 0
	}
	c := l.checkpoint(at, "GPU memory")
	c.Sampled = true
	c.Set(Allocated, allocated)
	c.Set(Total, total)
	return len(l.text) - len(rest)
}

// readVRAMUsage reads "VRAM usage: 3.21GB (peak: 4.56GB)", and without the peak in older scripts. "Peak" and "Expected"
// before it are a number of workers times a constant.
func readVRAMUsage(l *line, at int) (end int) {
	text := l.text[at+len("VRAM usage: "):]
	before := l.text[:at]
	if bytes.HasSuffix(before, []byte("Peak ")) || bytes.HasSuffix(before, []byte("Expected ")) {
		return 0
	}
	level, rest, ok := cutSize(text, 0)
	peak, hasPeak := cutPrefix(rest, " (peak: ")
	switch {
	case !isNumberAt(text), !isCutSize(text) && (!ok || level.Bytes < 0):
		return 0
	case !ok || level.Bytes < 0:
		l.bad(at, "a size such as 3.21GB", "the line was cut")
		return len(l.text)
	case !hasPeak && len(bytes.TrimSpace(rest)) > 0 && bytes.HasPrefix([]byte(" (peak: "), rest):
		l.bad(len(l.text)-len(rest), "(peak: 4.56GB)", "the line was cut")
	}
	c := l.checkpoint(at, "VRAM usage")
	c.Set(Allocated, level)
	if !hasPeak {
		return len(l.text) - len(rest)
	}
	size, rest, ok := cutSize(peak, 0)
	if !ok || size.Bytes < 0 {
		l.bad(len(l.text)-len(peak), "a size such as 4.56GB after \"peak:\"", "the line was cut")
		return len(l.text)
	}
	c.Set(Peak, size)
	return len(l.text) - len(rest)
}

// readTranscriptionStart reads where work on a file begins.
func readTranscriptionStart(l *line, at int) (end int) {
	path := bytes.TrimSpace(l.text[at+len("Starting enhanced ASR transcription: "):])
	if len(path) == 0 || len(path) > nameMax || isTemplate(path) {
		return 0
	}
	l.add(FileStart{Header: l.header(at), Pipeline: true, Path: l.str(path)})
	return len(l.text)
}

// readCUDAMemory reads the level at a place of the service, behind its name and a colon.
func readCUDAMemory(l *line, at int, name string) (end int) {
	s, rest, ok := cutSize(l.text[at+len(name)+len(": "):], 0)
	if !ok || s.Bytes < 0 {
		return 0
	}
	l.checkpoint(at, name).Set(Allocated, s)
	return len(l.text) - len(rest)
}

// readMonitorVRAM reads the monitor's "🎯 GPU: 92.0% | 💾 VRAM: 9.2/15.9GB (57.5%)". Another monitor, which prints the first
// percentage whole, shows its own allocator and so nothing.
func readMonitorVRAM(l *line, at int) (end int) {
	_, load, ok := bytes.Cut(l.text[max(0, at-40):at], []byte("GPU: "))
	n, _, okLoad := cutNumber(load)
	if !ok || !okLoad || n.decimals != 1 {
		return 0
	}
	text := l.text[at+len("💾 VRAM: "):]
	used, rest, ok := cutNumber(text)
	rest, slash := cutPrefix(rest, "/")
	total, rest, okTotal := cutSize(rest, 0)
	if !ok || !slash || !okTotal || total.Bytes <= 0 || used.digits < 0 {
		return 0
	}
	size, fits := used.times(GiB)
	if !fits {
		return 0
	}
	c := l.checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(Used, size)
	c.Set(Total, total)
	return len(l.text) - len(rest)
}

// readDeviceVRAM reads "GPU 0: 92% util, 85.4% VRAM (13,921MB/16,303MB)".
func readDeviceVRAM(l *line, at int) (end int) {
	used, rest, ok := cutGroupedMB(l.text[at+len("% VRAM ("):])
	rest, slash := cutPrefix(rest, "/")
	total, rest, okTotal := cutGroupedMB(rest)
	if !ok || !slash || !okTotal || total.Bytes <= 0 {
		return 0
	}
	c := l.checkpoint(at, "GPU")
	c.Sampled = true
	if i := bytes.LastIndex(l.text[:at], []byte("GPU ")); i >= 0 {
		c.Lane.Device, _, _ = cutInt(l.text[i+len("GPU "):])
	}
	c.Set(Used, used)
	c.Set(Total, total)
	return len(l.text) - len(rest)
}

// readBatchProgress reads how far the embeddings are:
//
//	✅ Progress: 10/125 batches (40 embeddings extracted)
//	✅ Progress: 80/320 segments (78 embeddings extracted)
func readBatchProgress(l *line, at int) (end int) {
	_, rest, ok := cutInt(l.text[at+len("Progress: "):])
	rest, slash := cutPrefix(rest, "/")
	_, rest, okAll := cutInt(rest)
	_, batches := cutPrefix(rest, " batches (")
	_, segments := cutPrefix(rest, " segments (")
	if !ok || !slash || !okAll || !batches && !segments {
		return 0
	}
	l.add(Event{Header: l.header(at), Kind: EventProgress, Text: l.message(at)})
	return len(l.text)
}

// readOOMFallback reads an allocation that failed, whose own message the program does not print, and what it does instead:
//
//	⚠️  CUDA OOM during voice enrollment, using fallback fast-path
//	⚠️ CUDA OOM during batch extraction, skipping voice embeddings for this cluster
//	⚠️  CUDA OOM loading bge-reranker-large, falling back to base
//
// Where it goes on with the message, that is read by itself: "CUDA OOM during embedding generation: CUDA out of memory". Where
// it says nothing more, or that there is no way on, nothing pardons it.
func readOOMFallback(l *line, at int) (end int) {
	text := l.text[at+len("CUDA OOM "):]
	begins := func(word string) bool { return bytes.HasPrefix(text, []byte(word)) }
	if inSource(l.text[:at]) || !slices.ContainsFunc([]string{"during ", "loading ", "on ", "while ", "at "}, begins) {
		return 0
	}
	for _, way := range []string{", using fallback fast-path", ", skipping voice embeddings", ", falling back to "} {
		if bytes.Contains(text[:min(len(text), 200)], []byte(way)) {
			l.add(OutOfMemory{Header: l.header(at), Text: l.message(at)})
			l.add(Event{Header: l.header(at), Kind: EventFallback, Text: l.message(at)})
			return len(l.text)
		}
	}
	_, way, goesOn := bytes.Cut(bytes.ToLower(text), []byte(", "))
	says := func(word string) bool { return bytes.Contains(way, []byte(word)) }
	noWay := !goesOn || slices.ContainsFunc([]string{"no fallback", "fail", "abort", "giving up", "exit"}, says)
	remark := isSpokenOf(l.text, at) || bytes.HasSuffix(l.text[:at], []byte("fallback on ")) ||
		bytes.Contains(text[:min(len(text), 200)], []byte(" may be avoided"))
	if noWay && bytes.IndexByte(text, ':') < 0 && !remark {
		l.add(OutOfMemory{Header: l.header(at), Text: l.message(at)})
		return len(l.text)
	}
	return 0
}
