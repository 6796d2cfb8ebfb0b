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
	if end := bracketEnd(head); end > 0 {
		return end
	}
	if bytes.IndexByte(head, "━"[0]) >= 0 && bytes.Contains(head, []byte("━")) {
		if m := richBar().FindIndex(head); m != nil {
			return textBehind(head, m[1])
		}
	}
	return 0
}

// textBehind returns the offset of the text behind a bar that ends at an offset, or 0 if there is
// only white space. One blank belongs to the bar.
func textBehind(line []byte, end int) int {
	if len(lex.TrimBlanks(line[end:])) == 0 {
		return 0
	}
	if line[end] == ' ' {
		end++
	}
	return end
}

// barMax is how many bytes of a line are searched for a bar.
const barMax = 1 << 10

var (
	// richBar matches a bar of Rich, or of Keras 3: "━━━━ 41s 320ms/step - loss: 1.2000".
	richBar = lex.Expression(`[━╸╺] +(?:(?:\d+/\d+ +)?\d+(?:\.\d+)?%` +
		`(?: +(?:\d+/\d+|\d+:\d\d:\d\d|-:--:--))+|[\d:hms]+ \d+[mu]?s/step` + metrics + `)`)
	// kerasBar matches a bar of Keras from the '[' on.
	kerasBar = lex.Expression(
		`^\[[=>.]{3,64}\](?: - (?:ETA: )?[\d:hms]+(?: \d+[mu]?s/\w+)?)?` + metrics)
)

// metrics matches what Keras prints behind a bar.
const metrics = `(?: - \w+: (?:\d+(?:\.\d+)?(?:e[+-]\d+)?|nan|inf))*`

// bracketEnd returns the offset behind a bar of tqdm or Keras if a text follows, or 0. The rate of
// tqdm may have more behind it, as in "[00:03<00:05,  1.10it/s, loss=0.3]".
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
				return textBehind(line, open+n)
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
			bytes.IndexByte(rest[:end], '[') >= 0 {
			continue
		}
		return textBehind(line, from+end+1)
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
	return isCount && bytes.IndexByte(text[max(0, n-24):], '/') >= 0 && bytes.IndexByte(text, '|') >= 0
}

// countClock returns the length of a duration such as "00:03" or "?" at the beginning of a text.
func countClock(text []byte) (n int) {
	for n < len(text) && n < 16 && (lex.IsDigit(text[n]) || text[n] == ':' || text[n] == '?') {
		n++
	}
	return n
}
