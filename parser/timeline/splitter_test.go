package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
)

// logOf returns a log of several files, each with the given checkpoints. The log lacks its first
// `cut` lines.
func logOf(files int, names []string, cut int) string {
	var lines []string
	for range files {
		for _, name := range names {
			lines = append(lines, fmt.Sprintf("[GPU Memory] %s: Allocated: 1.00GB\n", name))
		}
	}
	return strings.Join(lines[cut:], "")
}

// TestSplitWithHead: if a log has its beginning, all files are found, whatever the names of their
// checkpoints are.
func TestSplitWithHead(t *testing.T) {
	for _, names := range [][]string{
		{"Load model", "Start", "Encoded", "End"},
		{
			"Before File", "Pipeline Initialization",
			"Before Whisper Cleanup", "After Whisper Cleanup", "After File",
		},
		{"Before model setup", "Initial", "Encoded"},
	} {
		tl, err := parser.Build(parser.Read(strings.NewReader(logOf(12, names, 0)), "log"))
		if err != nil {
			t.Fatal(err)
		}
		if len(tl.Files) != 12 || len(tl.Outside) > 0 || tl.Files[0].Checkpoints[0].Name != names[0] {
			t.Errorf("%q: %d files from %q on, %d stretches outside",
				names, len(tl.Files), tl.Files[0].Checkpoints[0].Name, len(tl.Outside))
		}
	}
}

// TestSplitWithoutHead: if the beginning of a log was cut off, all files are found that the log
// still has completely.
func TestSplitWithoutHead(t *testing.T) {
	for _, names := range [][]string{
		{
			"Before Transcription", "Before Whisper Cleanup", "After Whisper Cleanup",
			"After Transcription",
		},
		{
			"Pipeline Initialization", "Before Audio", "After Audio", "Before Transcription",
			"Before Whisper Cleanup", "After Whisper Cleanup", "After Transcription (post-cleanup)",
			"Before Waveform Cleanup", "After Waveform Cleanup",
			"Before Final Cleanup", "After Final Cleanup",
		},
	} {
		for cut := range 2*len(names) + 1 {
			tl, err := parser.Build(parser.Read(strings.NewReader(logOf(12, names, cut)), "log"))
			if err != nil {
				t.Fatal(err)
			}
			want := 12 - (cut+len(names)-1)/len(names)
			if len(tl.Files) != want {
				t.Errorf("without %d of %d checkpoints a file: %d files, want %d",
					cut, len(names), len(tl.Files), want)
				continue
			}
			for i, f := range tl.Files {
				if f.Checkpoints[0].Name != names[0] || len(f.Checkpoints) != len(names) ||
					len(f.Unpaired) > 0 {
					t.Errorf("without %d of %d checkpoints a file: file %d has %d from %q on, %d without an After",
						cut, len(names), i+1, len(f.Checkpoints), f.Checkpoints[0].Name, len(f.Unpaired))
				}
			}
		}
	}
}
