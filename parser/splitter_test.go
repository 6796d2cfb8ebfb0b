package parser

import (
	"fmt"
	"strings"
	"testing"
)

// A log whose head is missing has the files of the whole one, but for what is left of the first.
func TestSplitWithoutHead(t *testing.T) {
	for _, names := range [][]string{
		{"Before Transcription", "Before Whisper Cleanup", "After Whisper Cleanup", "After Transcription"},
		{
			"Pipeline Initialization", "Before Audio", "After Audio", "Before Transcription", "Before Whisper Cleanup",
			"After Whisper Cleanup", "After Transcription (post-cleanup)", "Before Waveform Cleanup", "After Waveform Cleanup",
			"Before Final Cleanup", "After Final Cleanup",
		},
	} {
		var lines []string
		for range 12 {
			for _, name := range names {
				lines = append(lines, fmt.Sprintf("[GPU Memory] %s: Allocated: 1.00GB\n", name))
			}
		}
		for cut := range 2*len(names) + 1 {
			log := strings.Join(lines[cut:], "")
			tl, err := Build(Read(strings.NewReader(log), "log"))
			if err != nil {
				t.Fatal(err)
			}
			want := 12 - (cut+len(names)-1)/len(names)
			if len(tl.Files) != want {
				t.Errorf("without %d of %d checkpoints a file: %d files, want %d", cut, len(names), len(tl.Files), want)
				continue
			}
			for i, f := range tl.Files {
				if f.Checkpoints[0].Name != names[0] || len(f.Checkpoints) != len(names) || len(f.Unpaired) > 0 {
					t.Errorf("without %d of %d checkpoints a file: file %d has %d from %q on, %d without an After",
						cut, len(names), i+1, len(f.Checkpoints), f.Checkpoints[0].Name, len(f.Unpaired))
				}
			}
		}
	}
}
