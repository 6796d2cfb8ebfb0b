package source

import (
	"bytes"

	"vramsoak/parser/lex"
)

// BarEnd returns the offset at which another text follows the state of a progress bar in a line, or
// 0. A bar has no line end of its own. If the program, or another one, prints a line without a '\r'
// before it, the line begins behind the bar:
//
//	 40%|████      | 4/10 [00:03<00:05,  1.10it/s]CUDA error: out of memory         tqdm
//	Working... ━━━━━━━━━━╺━━━━━━━━━  50% 0:00:03[pipeline] file-start path=a.wav       Rich
func BarEnd(line []byte) int {
	head := line[:min(len(line), barMax)]
	if bytes.IndexByte(head, '<') >= 0 || bytes.Contains(head, []byte("it [")) {
		if m := tqdmBar().FindIndex(head); m != nil && m[1] < len(head) {
			return m[1]
		}
	}
	if bytes.IndexByte(head, "━"[0]) >= 0 && bytes.Contains(head, []byte("━")) {
		if m := richBar().FindIndex(head); m != nil && m[1] < len(head) {
			return m[1]
		}
	}
	return 0
}

// barMax is how many bytes of a line are searched for a bar.
const barMax = 1 << 10

var (
	// The rate and what follows it may be longer: "[00:03<00:05,  1.10it/s, loss=0.3]". Behind the
	// bar, only a text that begins at once counts. A blank belongs to the bar's padding.
	tqdmBar = lex.Expression(`(?:\d+%\|[^|\r]{0,200}\||\d+it) ?(?:[\d.,kMG?]+/[\d.,kMG?]+ )?` +
		`\[[\d:?]{1,16}(?:<[\d:?]{1,16})?, [^\[\]\r]{1,200}\]`)
	richBar = lex.Expression(`[━╸╺] +\d+(?:\.\d+)?%(?: +(?:\d+/\d+|\d+:\d\d:\d\d|-:--:--))+`)
)
