package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// TestFold: a text is folded at blanks. A number stays with its unit, columns stay two blanks
// apart, and a path that is too wide is split behind a slash.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"it grows by 4.00 MiB a file", 40, "it grows by 4.00 MiB a file"},
		{"it grows by 4.00 MiB a file", 15, "it grows by\n  4.00 MiB a\n  file"},
		{"see audio/english/0024.wav", 16, "see\n  audio/english/\n  0024.wav"},
		{"torch.cuda.memory", 14, "torch.cuda.\n  memory"},
		{"0123456789abcdef", 10, "0123456789\n  abcdef"},
		{"PID      name   file", 12, "PID  name\n  file"},
		{"  rank 0   used", 10, "  rank 0\n  used"},
		{"日本語日本語", 7, "日本語\n  日本\n  語"}, // each letter takes two columns
		{"", 40, ""},
	} {
		if diff := cmp.Diff(c.want, strings.Join(Fold(c.text, c.width, "  "), "\n")); diff != "" {
			t.Errorf("%q at %d (-want +got):\n%s", c.text, c.width, diff)
		}
	}
}

// TestFoldAfter: a name begins the first line, and the other lines begin below its text. The name
// may be wider than the indent.
func TestFoldAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"ok  ", "3.00 MiB of 80.0 GiB in use", 20, "ok  3.00 MiB of\n    80.0 GiB in use"},
		{"ok  ffmpeg: ", "in use", 20, "ok  ffmpeg: in use"},
		{"ok  ffmpeg: ", "/opt/日本語/ffmpeg", 20, "ok  ffmpeg: /opt/\n    日本語/ffmpeg"},
		{"ok  日本語 ", "2 GPUs", 15, "ok  日本語 2\n    GPUs"},
		{"ok  ", "", 20, "ok  "},
	} {
		got := strings.Join(FoldAfter(c.name, c.text, c.width, "    "), "\n")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q, %q at %d (-want +got):\n%s", c.name, c.text, c.width, diff)
		}
	}
}

// TestFoldFits: no line is wider than the width, and no word is lost.
func TestFoldFits(t *testing.T) {
	t.Parallel()
	const message = "  vramsoak: certain after 32 files: leak, idle level: grows by 4.00 MiB a file " +
		"(95 %: 3.86 MiB to 4.12 MiB) [/home/someone/runs/2026-11-20T02-00-00Z/soak.log:7];   日本語 " +
		"0123456789012345678901234567890123456789012345678901234567890123456789"
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for width := 40; width <= 200; width++ {
		lines := Fold(message, width, "    ")
		for _, line := range lines {
			if twwidth.Width(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if got := fmt.Sprint(bare(strings.Join(lines, ""))); got != bare(message) {
			t.Errorf("%d columns: %s", width, got)
		}
	}
}
