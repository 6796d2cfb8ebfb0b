package dialect

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect/dialecttest"
)

// TestPipelineEvents reads what pipelines say beside their checkpoints: progress, the speed of
// embeddings, the length of the audio, fallbacks, stages that are left out, and cache clears.
func TestPipelineEvents(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"progress", `
Progress: 10/32 batches (160 embeddings extracted)
2025-10-03 12:00:31,000 - INFO - enroll.run - ✅ Progress: 32/32 batches (500 embeddings extracted)
progress: 1,280 / 3,200 segments (9,600 Embeddings extracted)
PROGRESS: 10/32 BATCHES
[rank1]: Progress: 3/4 batches, 12 s left
{"level":"INFO","message":"Progress: 5/125 batches (20 embeddings extracted)"}
` + "\x1b[32mProgress: 7/8 batches (28 embeddings extracted)\x1b[0m", `
1 event progress "Progress: 10/32 batches (160 embeddings extracted)" done=10 of=32 items=160
2 event progress "Progress: 32/32 batches (500 embeddings extracted)" done=32 of=32 items=500
3 event progress "progress: 1,280 / 3,200 segments (9,600 Embeddings extracted)" done=1280 of=3200 items=9600
4 event progress "PROGRESS: 10/32 BATCHES" done=10 of=32
5 event progress rank1 "Progress: 3/4 batches, 12 s left" done=3 of=4
6 event progress "Progress: 5/125 batches (20 embeddings extracted)\"}" done=5 of=125 items=20
7 event progress "Progress: 7/8 batches (28 embeddings extracted)" done=7 of=8 items=28
`},
		{"no progress", `
logger.info(f"Progress: {n}/{total} batches ({k} embeddings extracted)")
    print("Progress: 10/32 batches (160 embeddings extracted)")
Progress: 100/1200 vCons transcribed
Progress: 10 batches
Progress: 10/32
Progress: 31.2% of 32 batches
Progress: 10/32 batchesize
work_in_progress: 10/32 batches
Progress: 40/32 batches
`, ""},
		{"extracted", `
Extracted 500 embeddings in 12.3s (40.7 emb/sec)
2025-10-03 12:00:31,000 - INFO - a - Extracted 90 embeddings from in 3s/a in 9.5s (9.5 emb/sec)
✅ extracted 1,280 voice embeddings in 2m 8s (10.0 embeddings/s)
Extracted 64 embeddings in 1:04, 1 embedding a second
Extracted 500 embeddings (40.7 emb/sec)
500 embeddings extracted in 12.5 seconds
Extracted 281/281 embeddings from batch
Extracted 1 embedding from C:\tmp\a.wav
Extracted 500 embeddings in 900ms
EXTRACTED 500 EMBEDDINGS IN 12.3S
` + "\x1b[1m\x1b[32mINFO\x1b[0m: Extracted 4 embeddings in 2 sec", `
1 event extracted "Extracted 500 embeddings in 12.3s (40.7 emb/sec)" items=500 seconds=12.3 rate=40.7
2 event extracted "a - Extracted 90 embeddings from in 3s/a in 9.5s (9.5 emb/sec)" items=90 seconds=9.5 rate=9.5
3 event extracted "extracted 1,280 voice embeddings in 2m 8s (10.0 embeddings/s)" items=1280 seconds=128 rate=10
4 event extracted "Extracted 64 embeddings in 1:04, 1 embedding a second" items=64 seconds=64 rate=1
5 event extracted "Extracted 500 embeddings (40.7 emb/sec)" items=500 rate=40.7
6 event extracted "500 embeddings extracted in 12.5 seconds" items=500 seconds=12.5
7 event extracted "Extracted 281/281 embeddings from batch" items=281
8 event extracted "Extracted 1 embedding from C:\\tmp\\a.wav" items=1
9 event extracted "Extracted 500 embeddings in 900ms" items=500 seconds=0.9
10 event extracted "EXTRACTED 500 EMBEDDINGS IN 12.3S" items=500 seconds=12.3
11 event extracted "Extracted 4 embeddings in 2 sec" items=4 seconds=2
`},
		{"nothing extracted", `
logger.info(f"Extracted {len(embeddings)} embeddings in {t:.1f}s ({r:.1f} emb/sec)")
Extracted 500 frames in 12.3s (40.7 fps)
Extracted embeddings for 500 files in 12.3s
Extracted 3 embeddings tables in 5 s
Extracted 500 archives with embeddings in 12.3s
⚠️  Slow voice embedding extraction (3.2 emb/sec) - likely running on CPU!
⚠️  Expected GPU speed: 10-20 emb/sec
No embeddings extracted from /tmp/a.wav
- Performance: 1500+ emb/sec
if "Extracted 500 embeddings in 12.3s" in log:
`, ""},
		{"audio", `
Processing audio with duration 00:12:34.567
2026-01-10 02:14:07,123 - faster_whisper - INFO - Processing audio with duration 12:34.567
[2026-01-10 02:14:07.123] [INFO] Processing audio with duration 12:34
INFO:faster_whisper:Processing audio with duration 75:00.250
🎧 processing audio with duration: 14.25s
Processing audio with duration 14.5 seconds, 2 channels
PROCESSING AUDIO WITH DURATION 01:02:50,572
`, `
1 event audio "Processing audio with duration 00:12:34.567" seconds=754.567
2 event audio "Processing audio with duration 12:34.567" seconds=754.567
3 event audio "Processing audio with duration 12:34" seconds=754
4 event audio "Processing audio with duration 75:00.250" seconds=4500.25
5 event audio "processing audio with duration: 14.25s" seconds=14.25
6 event audio "Processing audio with duration 14.5 seconds, 2 channels" seconds=14.5
7 event audio "PROCESSING AUDIO WITH DURATION 01:02:50,572" seconds=3770.572
`},
		{"no audio", `
self.logger.info("Processing audio with duration %s", format_timestamp(duration))
Processing audio with duration XX:XX:XX
Processing audio with duration 12:75
Processing audio with duration 1:61:00
Processing audio with duration 12:34:56:78
Processing audio with duration > 30 s
Processing audio with duration limits
Processing audio with duration 30
Not processing audio with duration 12:34
Skipped processing audio with duration 12:34
print(f"Processing audio with duration 12:34")
`, ""},
		{"fast path", `
FALLBACK FAST-PATH: skipping diarization for file 12.wav
2025-10-03 12:02:01,000 - INFO - asr.run - 🚀 FALLBACK FAST-PATH: Always assuming one speaker
Fallback fast-path: skipping diarization
talk 3: FALLBACK FAST PATH (out of memory)
FALLBACK FAST-PATH
`, `
1 event fallback "FALLBACK FAST-PATH: skipping diarization for file 12.wav" lost=diarization file=12.wav
2 event fallback "FALLBACK FAST-PATH: Always assuming one speaker" lost=diarization
3 event fallback "Fallback fast-path: skipping diarization" lost=diarization
4 event fallback "talk 3: FALLBACK FAST PATH (out of memory)" lost=diarization
5 event fallback "FALLBACK FAST-PATH" lost=diarization
`},
		{"no fast path", `
FALLBACK FAST-PATH: disabled
FALLBACK FAST-PATH is enabled
FALLBACK FAST-PATH=true
FALLBACK FAST-PATH: 0
FALLBACK FAST-PATH used: 3 times
No FALLBACK FAST-PATH for this file
logger.info(f"🚀 FALLBACK FAST-PATH: Always assuming one speaker")
check the native fallback fast-path state first
🚀 MONOLOGUE FAST-PATH TRIGGERED: 0.712 >= 0.434
ENABLE_FALLBACK_FAST_PATH=true
`, ""},
		{"diarization skipped", `
Skipping diarization: not enough GPU memory
2026-01-10 02:14:07,123 - WARNING - asr - Skipping diarization for 3.wav due to low VRAM
⚠️ Only 0.4 GB of GPU memory left, skipping speaker diarization for file my talk.wav
skipping diarization (CUDA OOM)
Skipped diarization to save memory
Skipping diarization: not enough memory
Skipping diarization for my_talk.wav -- out of memory
SKIPPING DIARIZATION: MEMORY IS LOW
Skipping diarization
⚡ Skipping diarization...
Skipping diarization for talk-004.wav
Skipping diarization for this file
[asr] talk-005.wav: Skipping diarization
OOM: skipping diarization for file 7
`, `
1 event fallback "Skipping diarization: not enough GPU memory" lost=diarization
2 event fallback "asr - Skipping diarization for 3.wav due to low VRAM" lost=diarization file=3.wav
3 event fallback "Only 0.4 GB of GPU memory left, skipping speaker diarization for file my talk.wav" lost=diarization file=my talk.wav
4 event fallback "skipping diarization (CUDA OOM)" lost=diarization
5 event fallback "Skipped diarization to save memory" lost=diarization
6 event fallback "Skipping diarization: not enough memory" lost=diarization
7 event fallback "Skipping diarization for my_talk.wav -- out of memory" lost=diarization file=my_talk.wav
8 event fallback "SKIPPING DIARIZATION: MEMORY IS LOW" lost=diarization
9 event skipped "Skipping diarization" lost=diarization
10 event skipped "Skipping diarization..." lost=diarization
11 event skipped "Skipping diarization for talk-004.wav" lost=diarization file=talk-004.wav
12 event skipped "Skipping diarization for this file" lost=diarization
13 event skipped "talk-005.wav: Skipping diarization" lost=diarization file=talk-005.wav
14 event fallback "OOM: skipping diarization for file 7" lost=diarization file=7
`},
		{"diarization that nobody asked for", `
Skipping diarization: disabled
Skipping diarization (disabled to save memory)
[3/5] Skipping diarization (--no-diarize)
HF_TOKEN not set. Skipping diarization.
No HuggingFace token configured. Skipping diarization...
⚠ No HF_TOKEN provided, skipping diarization
Skipping diarization due to model loading failure.
[INFO] Skipping diarization: single speaker
⚡ Skipping diarization for speed optimization
Skipping diarization because the file is too short
🚀 Fast-path: Processing monologue abc - skipping diarization
Skipping diarization for in-memory audio
If memory is low, skipping diarization is possible
Not skipping diarization: enough memory
print("Skipping diarization: not enough GPU memory")
the file is kept for skipping diarization memory tests
[00:12.000 --> 00:15.000]  skipping diarization when memory is low
# Skipping diarization: not enough GPU memory
"Skipping diarization: not enough GPU memory", he said.
`, ""},
		{"cache cleared", `
Cleared GPU cache before transcription
Cleared GPU cache after batch 5
Cleared GPU cache (freed 1.23 GB)
🧹 Cleared GPU cache
2025-10-03 12:00:33,000 - DEBUG - asr - 🧹 Cleared GPU cache: 512 MiB freed
Cleared CUDA cache
Unloaded previous model and cleared GPU cache.
CLEARED GPU CACHE
[Info] Cleared GPU cache after unfreeze 50%
 50%|█████     | 5/10 [00:05<00:05,  1.00s/it]Cleared GPU cache after batch 5
` + "\x1b[36mCleared GPU cache after batch 7\x1b[0m", `
1 event cache-cleared "Cleared GPU cache before transcription"
2 event cache-cleared "Cleared GPU cache after batch 5"
3 event cache-cleared "Cleared GPU cache (freed 1.23 GB)" freed=1320702444
4 event cache-cleared "Cleared GPU cache"
5 event cache-cleared "asr - 🧹 Cleared GPU cache: 512 MiB freed" freed=536870912
6 event cache-cleared "Cleared CUDA cache"
7 event cache-cleared "Unloaded previous model and cleared GPU cache."
8 event cache-cleared "CLEARED GPU CACHE"
9 event cache-cleared "Cleared GPU cache after unfreeze 50%"
10 event cache-cleared "Cleared GPU cache after batch 5"
11 event cache-cleared "Cleared GPU cache after batch 7"
`},
		{"cache not cleared", `
logger.debug("🧹 Cleared GPU cache before ASR")
print("Cleared GPU cache.")
Cleared GPU caches in worker processes
Cleared GPU cache: False
Cleared GPU cache? no
Cleared GPU cache failed: CUDA error: initialization error
The cleared GPU cache is filled again
GPU memory is not cleared GPU cache
Files are deleted if you cleared GPU cache
uncleared GPU cache
// Cleared GPU cache
[3.40s --> 4.60s] cleared GPU cache
Clear GPU cache before transcription
`, ""},
	})
}

// TestEventsOfLongLines: an event far behind in a long line is read, and its text is short.
func TestEventsOfLongLines(t *testing.T) {
	log := strings.Repeat("x ", 1<<16) + "Extracted 500 embeddings in 12.3s (40.7 emb/sec)"
	got := dialecttest.Show(t, dialecttest.Batches(log, BuiltIn()))
	if !strings.Contains(got, "items=500 seconds=12.3 rate=40.7") || len(got) > 512 {
		t.Errorf("got %d bytes: %.300q", len(got), got)
	}
}
