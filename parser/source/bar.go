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
//	105/233 [=====>......] - ETA: 41s - loss: 1.2000 CUDA error: out of memory         Keras
func BarEnd(line []byte) int {
	head := line[:min(len(line), barMax)]
	if end := firstBar(head); end > 0 {
		return textBehind(head, end)
	}
	return 0
}

// LastBarEnd returns the offset behind the last progress bar in a text, or 0. The text may end
// there. LastBarEnd looks only at the last 512 bytes.
func LastBarEnd(text []byte) (end int) {
	from := max(0, len(text)-512)
	for {
		n := firstBar(text[from:])
		if n == 0 {
			return end
		}
		from += n
		if from < len(text) && text[from] == ' ' {
			from++
		}
		end = from
	}
}

// barMax is how many bytes of a line are searched for a bar.
const barMax = 1 << 10

// firstBar returns the offset behind the first progress bar in a text, or 0.
func firstBar(text []byte) int {
	if end := bracketEnd(text); end > 0 {
		return end
	}
	if bytes.IndexByte(text, "━"[0]) >= 0 && bytes.Contains(text, []byte("━")) {
		if m := richBar().FindIndex(text); m != nil {
			return m[1]
		}
	}
	return 0
}

// textBehind returns the offset of the text behind a bar that ends at an offset, or 0 if there is
// only white space. Escape sequences and one blank belong to the bar.
func textBehind(line []byte, end int) int {
	rest := skipEscapes(line[end:])
	if len(lex.TrimBlanks(rest)) == 0 {
		return 0
	}
	return len(line) - len(bytes.TrimPrefix(rest, []byte{' '}))
}

var (
	// richBar matches a bar of Rich, also in colours, or of Keras 3: "━━━━ 41s 320ms/step - loss:
	// 1.2000".
	richBar = lex.Expression(`[━╸╺]` + space + `(?:(?:\d+/\d+` + space + `)?\d+(?:\.\d+)?%(?:` +
		space + `(?:\d+/\d+|\d+:\d\d:\d\d|-:--:--))*|[\d:hms]+ \d+[mu]?s/step` + metrics + `)`)
	// kerasBar matches a bar of Keras from the '[' on.
	kerasBar = lex.Expression(
		`^\[[=>.]{3,64}\](?: - (?:ETA: )?[\d:hms]+(?: \d+[mu]?s/\w+)?)?` + metrics)
)

// space matches blanks and colours.
const space = `(?: |\x1b\[[\d;]*m)+`

// metrics matches what Keras prints behind a bar.
const metrics = `(?: - \w+: (?:\d+(?:\.\d+)?(?:e[+-]\d+)?|nan|inf))*`

// bracketEnd returns the offset behind the first bar of tqdm or Keras, or 0. The rate of tqdm may
// have more behind it, as in "[00:03<00:05,  1.10it/s, loss=0.3]".
func bracketEnd(line []byte) int {
	for from := 0; ; {
		open := bytes.IndexByte(line[from:], '[')
		if open < 0 {
			return 0
		}
		open += from
		from = open + 1
		if from < len(line) && bytes.IndexByte([]byte("=>."), line[from]) >= 0 {
			if n := len(kerasBar().Find(line[open:])); n > 0 && open > 1 && line[open-1] == ' ' &&
				lex.IsDigit(line[open-2]) && bytes.IndexByte(line[max(0, open-24):open], '/') >= 0 {
				return open + n
			}
			continue
		}
		if !endsCount(line[:open]) {
			continue
		}
		rest := line[from:]
		n := countClock(rest)
		if n > 0 && n < len(rest) && rest[n] == '<' {
			left := countClock(rest[n+1:])
			n += 1 + left
		}
		end := bytes.IndexByte(rest, ']')
		if n == 0 || end < n || !bytes.HasPrefix(rest[n:], []byte(", ")) ||
			bytes.IndexByte(rest[:end], '[') >= 0 ||
			!bytes.Contains(rest[:end], []byte("/s")) && !bytes.Contains(rest[:end], []byte("s/")) {
			continue
		}
		return from + end + 1
	}
}

// endsCount reports whether a text ends like a bar before its times: "40%|████      | 4/10 ",
// "105it ".
func endsCount(text []byte) bool {
	text = bytes.TrimRight(text, " ")
	n := len(text)
	switch {
	case n < 3:
		return false
	case bytes.HasSuffix(text, []byte("it")):
		return lex.IsDigit(text[n-3])
	}
	c := text[n-1]
	isCount := lex.IsDigit(c) || c == '?' || c == 'k' || c == 'M' || c == 'G'
	return isCount && bytes.IndexByte(text[max(0, n-24):], '/') >= 0
}

// countClock returns the length of a duration such as "00:03" or "?" at the beginning of a text.
func countClock(text []byte) (n int) {
	for n < len(text) && n < 16 && (lex.IsDigit(text[n]) || text[n] == ':' || text[n] == '?') {
		n++
	}
	return n
}
