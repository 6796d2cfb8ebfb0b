package dialect

import (
	"bytes"
	"encoding/json"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A checkpoint that a script prints has its name in one of these places:
//
//	GPU Memory Before Whisper: 1.25GB allocated          in the label
//	Model loaded - GPU memory allocated: 1.25 GB         before the label
//	[After Whisper] GPU memory allocated: 1.25 GB        in brackets, as loggers print their name
//	GPU memory allocated: 1.25 GB after epoch 3          behind the size
//	event="After Whisper" allocated_mb=512.3             in a field
//	GPU memory after loading:                            in the line above
//	  Allocated: 1.25 GB
//
// Without a name, or if the name only counts steps, the checkpoint is sampled.

// printNameMax is the most bytes of a name.
const printNameMax = 128

// name returns the name of the checkpoint whose needle is at an offset of the line. The name is nil
// if the line has none. The parameter title is the line above, see [printTitle].
func (p *printLine) name(text []byte, at int, title []byte) (name []byte, sampled bool) {
	first := &p.items[0]
	if first.label.moment != nil {
		return first.label.moment, false
	}
	from := max(0, first.start-scan.Near)
	fields := text[from:min(len(text), first.start+scan.Near)]
	if name := fieldName(fields, at-from); name != nil {
		return name, false
	}
	if name, sampled := nameBefore(p.before); name != nil {
		return name, sampled
	}
	if name, sampled := nameInBrackets(text[:first.start]); name != nil {
		return name, sampled
	}
	if behind := lex.TrimBlanks(p.behind); startsMoment(behind) {
		end := bytes.IndexAny(behind, ",;|()[]{}\"'")
		if end < 0 {
			end = len(behind)
		}
		if name := bytes.TrimRight(behind[:end], " \t.-:"); len(name) <= printNameMax {
			return name, false
		}
	}
	for rest := title; len(rest) > 0; { // "Memory status after cleanup"
		if startsMoment(rest) {
			return rest, false
		}
		_, rest, _ = bytes.Cut(rest, []byte(" "))
	}
	for _, key := range []string{"step", "global_step", "epoch", "iter", "iteration", "batch"} {
		if _, ok := fieldValue(fields, key, -1); ok {
			return []byte(key), true
		}
	}
	if first.label.step != nil {
		return first.label.step, true
	}
	return nil, true
}

// startsMoment reports whether a text begins with "before" or "after".
func startsMoment(text []byte) bool {
	word := text[:countLetters(text)]
	return printMoments[lower(word)] && len(text) > len(word)
}

// stepOf returns the word "epoch" of a text that begins like "Epoch 3/10", or nil.
func stepOf(text []byte) []byte {
	word := text[:countLetters(text)]
	rest := bytes.TrimLeft(text[len(word):], " \t:#=_-[(")
	if printSteps[lower(word)] && len(rest) > 0 && lex.IsDigit(rest[0]) {
		return word
	}
	return nil
}

// nameBefore returns the name in the text before the first label. It cuts the words that only say
// what the label says, as in "Model loaded - GPU 0 - ".
func nameBefore(before []byte) (name []byte, sampled bool) {
	if i := bytes.IndexByte(before, '='); i >= 0 { // fields precede the label
		before = before[:i]
		before = before[:bytes.LastIndexAny(before, " \t|,")+1]
	}
	for rest := trimOrnaments(before); len(rest) > 0; rest = trimOrnaments(before) {
		open := len(rest)
		if rest[open-1] == ')' { // "Model loaded (fp16)"
			open = bytes.LastIndexByte(rest, '(')
		}
		start := lastBoundary(rest[:open])
		segment := trimOrnaments(rest[start:])
		if startsMoment(segment) {
			return lex.FirstBytes(segment, printNameMax), false
		}
		label, ok := readLabel(segment)
		switch {
		case ok && label.moment != nil:
			return label.moment, false
		case stepOf(rest) != nil:
			return stepOf(rest), true
		case !ok && len(segment) > 0:
			if len(rest) > printNameMax || bytes.IndexByte(rest, '|') >= 0 || hasValue(rest) ||
				source.EndsInLogger(rest) {
				return nil, true
			}
			return withoutSubject(rest), false
		}
		before = rest[:max(0, start-1)]
	}
	return nil, true
}

// withoutSubject returns a name without words such as "VRAM" in the brackets before it: the text
// "VRAM][Whisper" of "[VRAM][Whisper] alloc=1.25GB" gives "Whisper".
func withoutSubject(name []byte) []byte {
	if i := bytes.IndexByte(name, ']'); i > 0 {
		rest := trimOrnaments(name[i:])
		if _, ok := readLabel(name[:i]); ok && len(rest) > 0 {
			return rest
		}
	}
	return name
}

// hasValue reports whether a text has a label with a number, as in "loss: 0.1".
func hasValue(text []byte) bool {
	for {
		_, rest, ok := bytes.Cut(text, []byte(": "))
		if !ok {
			return false
		}
		if lex.BeginsWithNumber(rest) {
			return true
		}
		text = rest
	}
}

// trimOrnaments returns a text without blanks, emoji and punctuation at both ends. It keeps the
// bracket that closes "(fp16)".
func trimOrnaments(text []byte) []byte {
	text = bytes.TrimLeftFunc(text, isOrnament)
	trimmed := bytes.TrimRightFunc(text, isOrnament)
	if n := len(trimmed); n < len(text) && text[n] == ')' && bytes.IndexByte(trimmed, '(') >= 0 {
		return text[:n+1]
	}
	return trimmed
}

// nameInBrackets returns the name in the last brackets of the text before the first label, if it
// begins with "before", "after" or a word for a step.
func nameInBrackets(before []byte) (name []byte, sampled bool) {
	before = lex.LastBytes(before, printLabelMax)
	end := bytes.LastIndexByte(before, ']')
	if end < 0 {
		return nil, true
	}
	inside := bytes.TrimSpace(before[bytes.LastIndexByte(before[:end], '[')+1 : end])
	if startsMoment(inside) {
		return inside, false
	}
	return stepOf(inside), true
}

// printNameFields are the keys of fields that name a checkpoint, the best first.
var printNameFields = []string{"checkpoint", "event", "msg", "message", "stage", "phase", "step"}

// fieldName returns the name in a field of the line, or nil. A number is no name. Neither is a
// message that has the label in it, at the offset `at`.
func fieldName(text []byte, at int) []byte {
	if bytes.IndexByte(text, '=') < 0 && !bytes.Contains(text, []byte(`"`)) &&
		!bytes.Contains(text, []byte(`':`)) {
		return nil
	}
	for _, key := range printNameFields {
		value, ok := fieldValue(text, key, at)
		if !ok || len(value) == 0 || len(value) > printNameMax || isNumber(value) {
			continue
		}
		if label, ok := readLabel(value); ok && label.moment == nil {
			continue // "GPU memory"
		}
		return value
	}
	return nil
}

// isNumber reports whether the whole text is a number.
func isNumber(text []byte) bool {
	_, rest, ok := lex.CutNumber(text)
	return ok && len(rest) == 0
}

// fieldValue returns the value of a field: key=value, key="a value", "key": "a value". ok is false
// if the text has no such field, or if the value contains the offset `at`.
func fieldValue(text []byte, key string, at int) (value []byte, ok bool) {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(key))
		if i < 0 {
			return nil, false
		}
		start := from + i
		from = start + len(key)
		if start > 0 && (isKeyByte(text[start-1]) || text[start-1] >= 0x80) {
			continue
		}
		rest := text[from:]
		quoted := start > 0 && (text[start-1] == '"' || text[start-1] == '\'')
		if quoted {
			if len(rest) == 0 || rest[0] != text[start-1] {
				continue
			}
			rest = lex.TrimBlanks(rest[1:])
		}
		if len(rest) == 0 || rest[0] != '=' && (rest[0] != ':' || !quoted) {
			continue
		}
		if rest = rest[1:]; quoted {
			rest = lex.TrimBlanks(rest)
		}
		begin := len(text) - len(rest)
		value, end := cutField(rest)
		if end == 0 || begin <= at && at < begin+end {
			continue
		}
		return value, true
	}
}

// cutField returns the value at the beginning of a text, and the length of its text. The length is
// 0 if the value has no end.
func cutField(text []byte) (value []byte, length int) {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case text[0]:
				value = text[1:i]
				var s string
				if text[0] == '"' && json.Unmarshal(text[:i+1], &s) == nil {
					value = []byte(s)
				}
				return bytes.TrimSpace(value), i + 1
			}
		}
		return nil, 0
	}
	end := bytes.IndexAny(text, " \t,;}])|\"'")
	if end < 0 {
		end = len(text)
	}
	return text[:end], end
}

// setLane sets the device and the rank that the line names.
func setLane(lane *record.Lane, p *printLine) {
	named := p.lane
	named.add(fieldLane(p.fields, p.indexed))
	if named.device >= 0 {
		lane.Device = named.device
	}
	if named.rank >= 0 {
		lane.Rank = named.rank
	}
}

// deviceFields are the keys of fields that give the number of a device. The last one does so only
// in a list: {"gpus": [{"index": 0, "gpu_memory_used_mb": 8294}, {"index": 1, ...
var deviceFields = []string{"device", "gpu", "gpu_id", "device_id", "gpu_index", "index"}

// fieldLane returns the device and the rank in the fields of a text: "device=cuda:1 rank=3". If
// indexed is set, a field "index" gives the device too.
func fieldLane(text []byte, indexed bool) printLane {
	lane := noLane
	keys := deviceFields
	if !indexed {
		keys = keys[:len(keys)-1]
	}
	for _, key := range keys {
		if value, ok := fieldValue(text, key, -1); ok {
			value, _ = lex.CutPrefix(value, "cuda:")
			if n, rest, ok := lex.CutInt(value); ok && len(rest) == 0 {
				lane.device = n
				break
			}
		}
	}
	if value, ok := fieldValue(text, "rank", -1); ok {
		if n, rest, ok := lex.CutInt(value); ok && len(rest) == 0 {
			lane.rank = n
		}
	}
	return lane
}

// printTitle returns the line above, without its colon, if it is a title, and if the line itself
// has no text before its label.
func printTitle(l *scan.Line, before []byte) []byte {
	text, ok := l.Previous(1)
	if !ok || len(before) > 0 || len(text) > printLabelMax {
		return nil
	}
	title, ok := bytes.CutSuffix(bytes.TrimSpace(text), []byte(":"))
	if !ok || len(title) > printNameMax {
		return nil
	}
	return bytes.Clone(trimOrnaments(title[source.MessageStart(title):]))
}

// contextOf returns the words GPU and memory in the parts of a text that consist of known words, as
// in "[GPU] " or "CUDA memory | ". It also returns the device and
// the rank that such a part names.
func contextOf(text []byte) (words printWord, lane printLane) {
	lane = noLane
	for range 8 {
		i := lastBoundary(text)
		if label, ok := readLabel(bytes.TrimSpace(text[i:])); ok {
			words |= label.words & (saysGPU | saysMemory)
			lane.add(label.lane)
		}
		if i == 0 {
			break
		}
		text = text[:i-1]
	}
	return words, lane
}

// add sets the numbers that the lane lacks.
func (lane *printLane) add(more printLane) {
	if lane.device < 0 {
		lane.device = more.device
	}
	if lane.rank < 0 {
		lane.rank = more.rank
	}
}

// hostWords are words for memory that is not the GPU's, and for programs that print such memory.
var hostWords = map[string]bool{
	"cpu": true, "ram": true, "host": true, "system": true, "sys": true, "heap": true, "jvm": true,
	"java": true, "rss": true, "swap": true, "disk": true, "storage": true, "filesystem": true,
	"shared": true, "shm": true, "pinned": true, "container": true, "executor": true, "yarn": true,
	"spark": true, "redis": true, "cgroup": true, "pod": true, "slurm": true, "docker": true,
	"kubernetes": true, "vm": true, "virtual": true, "physical": true, "quota": true,
}

// plannedWords begin the words for memory that nobody has measured.
var plannedWords = []string{
	"estimat", "expect", "predict", "requir", "need", "limit", "budget", "recommend", "minimum",
	"theoretical", "planned",
}

// mentionsHost reports whether a text has one of the host's words.
func mentionsHost(text []byte) bool {
	return hasWord(text, func(word string) bool { return hostWords[word] })
}

// mentionsPlan reports whether a text speaks of memory that nobody has measured.
func mentionsPlan(text []byte) bool {
	return hasWord(text, func(word string) bool {
		for _, begin := range plannedWords {
			if len(word) >= len(begin) && word[:len(begin)] == begin {
				return true
			}
		}
		return false
	})
}

// hasWord reports whether one of the last words of a text is as asked.
func hasWord(text []byte, is func(word string) bool) bool {
	text = lex.LastBytes(text, printLabelMax)
	for i := 0; i < len(text); i++ {
		if n := countLetters(text[i:]); n > 0 {
			if is(lower(text[i : i+n])) {
				return true
			}
			i += n
		}
	}
	return false
}

// messageStart returns the offset at which the message of a line begins, before its first letter
// that is not of a logger.
func messageStart(text []byte) int {
	end := bytes.IndexAny(lex.FirstBytes(text, printLabelMax), ":=")
	if end < 0 {
		return 0
	}
	// The last separator precedes the size.
	if last := bytes.LastIndexAny(lex.FirstBytes(text, printLabelMax), ":="); last > end {
		end = last
	}
	start := source.MessageStart(text[:end])
	return end - len(source.WithoutProcess(text[start:end]))
}
