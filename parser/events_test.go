package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/timeline"
)

// TestEventsOfFiles: what a pipeline says is added up for the file in which it says it.
func TestEventsOfFiles(t *testing.T) {
	const (
		idle  = "[GPU Memory] Before Transcription: Allocated: 1.00GB\n"
		after = "[GPU Memory] After Transcription: Allocated: 1.00GB\n"
		oom   = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
	)
	for _, c := range []struct{ name, log, want string }{
		{"nothing is said", idle + after, "file 1:\n"},
		{
			"in files that begin where a checkpoint recurs",
			idle + "Cleared GPU cache\n" + after + idle + "Cleared GPU cache\nCleared GPU cache\n" + after,
			"file 1: clears=1\nfile 2: clears=2\n",
		},
		{
			"before a head that is no file",
			"Cleared GPU cache\n[GPU Memory] Model Load: Allocated: 1.00GB\nCleared GPU cache\n" +
				strings.Repeat(idle+"Extracted 10 embeddings in 2s\n"+after, 3),
			"between: clears=2\nfile 1: embeddings=10 timed=10 seconds=2\n" +
				"file 2: embeddings=10 timed=10 seconds=2\nfile 3: embeddings=10 timed=10 seconds=2\n",
		},
		{
			"progress that goes on behind a checkpoint, and ends with the extraction",
			idle + "Progress: 10/30 batches (40 embeddings extracted)\n" + after +
				"Progress: 20/30 batches (80 embeddings extracted)\n[GPU Memory] X: Allocated: 1.00GB\n" +
				"Extracted 120 embeddings in 4s\n",
			"file 1: embeddings=120 timed=120 seconds=4\n",
		},
		{
			"progress of three extractions, two of which have no end",
			"[pipeline] file-start path=a\nProgress: 10/30 batches (40 embeddings extracted)\n" +
				"Progress: 20/30 batches (80 embeddings extracted)\n" +
				"Progress: 10/30 batches (40 embeddings extracted)\nExtracted 120 embeddings in 4s\n" +
				"Progress: 5/30 batches (20 embeddings extracted)\n",
			"a: embeddings=220 timed=120 seconds=4\n", // 80 + 120 + 20
		},
		{
			"a rate without a time",
			"[pipeline] file-start path=a\nExtracted 500 embeddings (40.0 emb/sec)\n",
			"a: embeddings=500 timed=500 seconds=12.5\n",
		},
		{
			"in files of which the log only has the ends",
			"Cleared GPU cache (freed 1.00 GB)\n" + after + "[pipeline] file-end path=a status=ok\n" +
				"Cleared GPU cache\n[pipeline] file-end path=b status=ok\nCleared GPU cache\n",
			"between: clears=2 freed=1073741824\na:\nb: clears=1\n",
		},
		{
			"before the first file with a name",
			idle + "Cleared GPU cache\n" + idle + "Cleared GPU cache\n" +
				"[pipeline] file-start path=a\nCleared GPU cache\n",
			"between: clears=2\na: clears=1\n",
		},
		{
			"the length of the audio",
			"[pipeline] file-start path=a\nProcessing audio with duration 01:40\n" +
				"Processing audio with duration 01:40.000\n" +
				"[pipeline] file-start path=b\nProcessing audio with duration 01:40\n" +
				"Processing audio with duration 00:30\n" +
				"[pipeline] file-start path=c audio_seconds=7\nProcessing audio with duration 01:40\n" +
				"[pipeline] file-start path=d\n",
			"a: audio=100\nb:\nc: audio=7\nd:\n",
		},
		{
			"one fallback in two lines",
			"[pipeline] file-start path=a\n" +
				"CUDA OOM during voice enrollment, using fallback fast-path\nCleared GPU cache\n" +
				"FALLBACK FAST-PATH: Always assuming one speaker\nSkipping diarization\n" +
				"[pipeline] file-start path=b\nFALLBACK FAST-PATH: Always assuming one speaker\n" +
				"FALLBACK FAST-PATH: Always assuming one speaker\n",
			"a: clears=1 fallbacks=1 lost=diarization\nb: fallbacks=2 lost=diarization\n",
		},
		{
			"files that only the lines name",
			"FALLBACK FAST-PATH: skipping diarization for file a.wav\n" +
				"FALLBACK FAST-PATH: skipping diarization for file b.wav\n" +
				"FALLBACK FAST-PATH: skipping diarization for file b.wav\n",
			"between: fallbacks=3 lost=diarization(a.wav) lost=diarization(b.wav)\n",
		},
		{
			"files that nothing names",
			"FALLBACK FAST-PATH: Always assuming one speaker\nSkipping diarization\n" +
				"FALLBACK FAST-PATH: Always assuming one speaker\n",
			"between: fallbacks=2 lost=diarization lost=diarization\n",
		},
		{
			"a stage that is left out with and without a reason",
			"[pipeline] file-start path=a\nSkipping diarization\n" +
				"[pipeline] file-start path=b\n" + oom + "Skipping diarization\n" +
				"[pipeline] file-start path=c\nSkipping diarization: not enough GPU memory\n" +
				"[pipeline] file-start path=d\nSkipping diarization\nSkipping diarization due to OOM\n",
			"a: lost=diarization?\nb: lost=diarization\nc: fallbacks=1 lost=diarization\n" +
				"d: fallbacks=1 lost=diarization\n",
		},
		{
			"of two processes",
			"[rank0]: [pipeline] file-start path=a\n[rank1]: [pipeline] file-start path=b\n" +
				"[rank1]: Cleared GPU cache\n[rank0]: FALLBACK FAST-PATH\n[rank1]: Cleared GPU cache\n",
			"a: fallbacks=1 lost=diarization\nb: clears=2\n",
		},
		{
			"what cleanups gave back",
			idle + after + "Memory recovered: 1.00GB (97%)\nMemory freed - Allocated: 1.00GB\n" +
				"Training batch - Memory increase: 0.40GB\n",
			"file 1: printed=2\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, err := parser.Build(parser.Read(strings.NewReader(c.log), "run.log"))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if said := renderEvents(&tl.Between); said != "" {
				got = "between:" + said + "\n"
			}
			for _, f := range tl.Files {
				got += f.Name() + ":" + renderEvents(f.Events)
				if f.AudioSeconds > 0 {
					got += fmt.Sprintf(" audio=%g", f.AudioSeconds)
				}
				got += "\n"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// renderEvents writes the numbers of a sum that are not 0.
func renderEvents(s *timeline.EventSum) string {
	var b strings.Builder
	if s == nil {
		return ""
	}
	renderMore(&b, "embeddings", s.Embeddings)
	renderMore(&b, "timed", s.Timed)
	renderMore(&b, "seconds", s.Seconds)
	renderMore(&b, "clears", s.CacheClears)
	renderMore(&b, "freed", s.Freed)
	renderMore(&b, "fallbacks", s.Fallbacks)
	for _, l := range s.Losses {
		b.WriteString(" lost=" + l.Stage)
		if l.File != "" {
			b.WriteString("(" + l.File + ")")
		}
		if l.Unexplained {
			b.WriteString("?")
		}
	}
	renderMore(&b, "printed", len(s.Printed))
	return b.String()
}
