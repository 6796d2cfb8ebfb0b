package html

import (
	"strings"
	"testing"
)

// TestPieces: a line that is too short for a setting breaks after its name.
func TestPieces(t *testing.T) {
	got := strings.Join(pieces("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"), " ")
	if got != "PYTORCH_CUDA_ALLOC_CONF= expandable_segments:True" {
		t.Errorf("got %q", got)
	}
}

// TestSpans: the commands, settings and paths in sentences are code, here in brackets. The words of
// a sentence after a command are not.
func TestSpans(t *testing.T) {
	for _, want := range []string{
		"run [vramsoak plot LOG -o memory.png] to see what led to it",
		"Draw what the allocator holds: [vramsoak plot LOG --fragmentation]",
		"Set [PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True] and run ([docs/explanation/growth.md])",
		"in PyTorch try [PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True], or empty the cache",
		"files that get longer look the same ([soak --shuffle] would decide it)",
		"every 28 files or fewer ([vramsoak soak --restart-every 28])",
		"take a snapshot and run: [vramsoak snapshot FILE] ([docs/how-to/snapshot.md])",
		"and run [vramsoak snapshot FILE.pickle]",
		"Compare the two: [vramsoak compare 'night 11.log' /a/night-12.log]",
		"See what changed: [git log 0000011..0000012]",
		"If intended: [vramsoak history gate --accept --note REASON]",
		"a smaller batch; [vramsoak validate] finds what fits ([docs/how-to/validate.md])",
		"In Python, [vramlog.freeing] around the cleanup names the objects",
		"List what stays open: [ls -l /proc/PID/fd]",
		"[vramsoak history] is at the start, and Decoding takes 14.5 GiB.",
		"no command at all",
	} {
		sentence := strings.NewReplacer("[", "", "]", "").Replace(want)
		var got strings.Builder
		for _, s := range spans(sentence) {
			if s.Words == nil {
				got.WriteString(s.Text)
				continue
			}
			got.WriteString("[" + strings.Join(s.Words, " ") + "]")
		}
		if got.String() != want {
			t.Errorf("got  %s\nwant %s", got.String(), want)
		}
	}
}
