package nearmiss

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"vramsoak/parser/lex"
	"vramsoak/parser/source"
)

// A candidate is a number in a line that may be a size of GPU memory.
type candidate struct {
	score      int // 0 for a line that is no reading
	label      int // offset of the label
	start, end int // offsets of the number
	quantity   string
	unit       string // for the key unit: of a dialect, if the text behind the number is no unit
	behind     bool   // a unit is directly behind the number
}

// labelMax is the most bytes of a label. A line with a lower score than scoreMin is no reading:
// 3 is the score of a unit, and any word for memory raises it.
const (
	labelMax = 64
	scoreMin = 5
)

// A wording is a set of words, in lower case, and what they add to a score.
type wording struct {
	words []string
	score int
}

// wordings judge a line. The words of memory that is not the GPU's, and of memory that nobody has
// measured, make other lines more likely.
var wordings = []wording{
	{[]string{
		"gpu", "vram", "cuda", "显存", "顯存", "显卡", "グラフィック", "그래픽", "видео", "grafik",
	}, 4},
	{[]string{
		"memory", "mem", "allocated", "alloc", "reserved", "memoria", "mémoire", "speicher", "память",
		"памяти", "内存", "內存", "記憶體", "メモリ", "메모리", "显存", "顯存", "vram",
	}, 2},
	{[]string{"before", "after", "之前", "之后", "之後"}, 1},
	{[]string{
		"total", "limit", "required", "estimated", "estimate", "expected", "capacity", "总", "総",
	}, -3},
	{[]string{
		"ram", "cpu", "rss", "host", "disk", "swap", "heap", "jvm", "size", "file", "download",
		"downloading", "downloaded", "saved", "bandwidth",
	}, -5},
}

// quantities are the words for a quantity near a number, in lower case. The first one counts.
var quantities = []struct {
	words    []string
	quantity string
}{
	{[]string{"reserved", "cached", "预留", "保留", "缓存", "予約", "예약"}, "reserved"},
	{[]string{"peak", "max", "maximum", "峰值", "最大", "ピーク", "최대", "пик"}, "peak"},
	{[]string{"free", "available", "剩余", "剩餘", "可用", "空き", "여유", "свободно"}, "free"},
	{[]string{"allocated", "alloc", "分配", "割り当て", "할당"}, "allocated"},
	{[]string{"used", "占用", "已用", "使用", "사용", "занято"}, "used"},
	{[]string{"total", "总", "總", "合計", "총"}, "total"},
}

// judge returns the number of a line that looks most like a size of GPU memory. Its score is 0 if
// the line does not look like a reading.
func judge(text []byte) (best candidate) {
	if source.HasPlaceholder(text) || bytes.Contains(text, []byte("ut of memory")) {
		return candidate{}
	}
	lower := strings.ToLower(string(text))
	if len(lower) != len(text) {
		lower = string(text) // offsets must agree
	}
	line := 0
	for _, w := range wordings {
		if hasAny(lower, w.words) {
			line += w.score
		}
	}
	isMemory := hasAny(lower, wordings[1].words)
	numbers := 0
	for i := 0; i < len(text) && numbers < 32; {
		n := numberLength(text[i:])
		if n == 0 {
			i++
			continue
		}
		if i > 0 && (lex.IsWordByte(text[i-1]) && text[i-1] != '_' ||
			text[i-1] == '-' || text[i-1] == '.') {
			i += n
			continue
		}
		numbers++
		c := candidate{start: i, end: i + n, label: labelStart(text, i)}
		i += n
		if c.read(text, lower); c.score == 0 ||
			!isMemory && !hasAny(lower[c.label:c.start], wordings[0].words) {
			continue
		}
		if c.score += line; c.score >= scoreMin && c.score > best.score {
			best = c
		}
	}
	return best
}

// read sets the unit, the quantity and the score of a candidate. The score stays 0 if the number
// has no unit and its label no word for memory.
func (c *candidate) read(text []byte, lower string) {
	label := lower[c.label:c.start]
	isMemory := hasAny(label, wordings[0].words) || hasAny(label, wordings[1].words)
	rest := lex.FirstBytes(text[c.end:], 16)
	u := unitAt(rest)
	switch {
	case len(rest) > 0 && (rest[0] == '%' || rest[0] == ':' || rest[0] == '/'):
		return
	case u.name != "" && u.known:
		c.behind, c.score = true, 3
	case u.name != "":
		c.unit, c.score = u.name, 3
	case keyUnit(label) != "" && isMemory:
		c.unit, c.score = keyUnit(label), 3
	case isLabel(label):
		c.unit, c.score = "MiB", 1
		if bytes.IndexByte(text[c.start:c.end], '.') < 0 && c.end-c.start > 6 {
			c.unit = "B"
		}
	default:
		return
	}
	if isMemory {
		c.score += 2
	}
	near := label + " " + lower[c.end:min(len(lower), c.end+24)]
	c.quantity = "allocated"
	for _, q := range quantities {
		if hasAny(label, q.words) || q.quantity != "total" && hasAny(near, q.words) {
			c.quantity = q.quantity
			c.score++
			break
		}
	}
	if c.quantity == "total" {
		c.score = 0
	}
}

// isLabel reports whether a number without a unit may be a size: its label has a word for the GPU,
// one for memory, and a separator.
func isLabel(label string) bool {
	label = strings.TrimRight(label, " \t\"'")
	separated := strings.HasSuffix(label, ":") || strings.HasSuffix(label, "=") ||
		strings.HasSuffix(label, "：")
	return separated && hasAny(label, wordings[0].words) && hasAny(label, wordings[1].words)
}

// numberLength returns the length of the number at the beginning of the text, which may have
// decimals and commas.
func numberLength(text []byte) (n int) {
	if len(text) == 0 || !lex.IsDigit(text[0]) {
		return 0
	}
	for n < len(text) && (lex.IsDigit(text[n]) || (text[n] == '.' || text[n] == ',') &&
		n+1 < len(text) && lex.IsDigit(text[n+1])) {
		n++
	}
	return n
}

// unitNames are units of memory, in lower case, and their names in a dialect.
var unitNames = map[string]string{
	"gb": "GB", "gib": "GiB", "mb": "MB", "mib": "MiB", "kb": "kB", "kib": "KiB", "tb": "TB",
	"bytes": "B", "b": "B", "g": "GiB", "m": "MiB", "гб": "GB", "мб": "MB", "кб": "kB", "гиб": "GiB",
	"миб": "MiB", "gigabytes": "GB", "megabytes": "MB", "ギガバイト": "GB", "メガバイト": "MB",
}

// A unit is the unit behind a number.
type unit struct {
	name   string // in a dialect; "" if there is no unit
	length int    // of the blanks and the unit
	known  bool   // each dialect reads this unit behind a number
}

// unitAt returns the unit at the beginning of the text behind a number. "GB/s" is no unit of
// memory.
func unitAt(rest []byte) (u unit) {
	text := bytes.TrimLeft(rest, " \t")
	blanks := len(rest) - len(text)
	end := 0
	for end < len(text) {
		r, n := utf8.DecodeRune(text[end:])
		if !unicode.IsLetter(r) || (r >= utf8.RuneSelf) != (text[0] >= utf8.RuneSelf) {
			break
		}
		end += n
	}
	word := string(text[:end])
	u.name, u.length = unitNames[strings.ToLower(word)], blanks+end
	if end == 1 && (word[0] >= 'a' || blanks > 0 && word != "B") ||
		bytes.HasPrefix(text[end:], []byte("/s")) {
		return unit{}
	}
	u.known = end > 0 && text[0] < utf8.RuneSelf && blanks <= 1 && !strings.HasSuffix(word, "abytes")
	return u
}

// keyUnit returns the unit in which a label ends: "gpu_mem_used_mb=", "GPU memory (MB): ".
func keyUnit(label string) string {
	label = strings.TrimRight(label, " \t:=\"')]：")
	word := label[strings.LastIndexFunc(label, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	if len(word) < 2 {
		return ""
	}
	return unitNames[word]
}

// labelStart returns the offset at which the label of a number begins: behind a bar, a comma, a
// bracket or the number before, and at most labelMax bytes before the number.
func labelStart(text []byte, number int) int {
	from := max(0, number-labelMax)
	for from < number && !utf8.RuneStart(text[from]) {
		from++
	}
	start := from
	message := source.MessageStart(text[:number])
	if message > start && hasLetter(text[message:number]) {
		start = message
	}
	for i := start; i < number; i++ {
		if bytes.IndexByte([]byte("|,;{}[]"), text[i]) >= 0 && hasLetter(text[i+1:number]) {
			start = i + 1
		}
	}
	if first := bytes.IndexFunc(text[start:number], unicode.IsLetter); first > 0 {
		start += first
	}
	return start
}

// hasLetter reports whether a text has a letter of any alphabet.
func hasLetter(text []byte) bool { return bytes.IndexFunc(text, unicode.IsLetter) >= 0 }

// hasAny reports whether a text has one of the words. A word of ASCII letters must be a whole word,
// except that it may be a part of a key: "gpu_mem_mb".
func hasAny(text string, words []string) bool {
	for _, word := range words {
		for from := 0; ; {
			i := strings.Index(text[from:], word)
			if i < 0 {
				break
			}
			i += from
			from = i + len(word)
			if word[0] >= utf8.RuneSelf || !letterAt(text, i-1) && !letterAt(text, from) {
				return true
			}
		}
	}
	return false
}

// letterAt reports whether an ASCII letter is at an offset of the text.
func letterAt(text string, at int) bool {
	return at >= 0 && at < len(text) && text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z'
}
