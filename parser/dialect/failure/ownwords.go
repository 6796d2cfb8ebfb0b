package failure

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// ownWords are the needles of failures that programs report in their own words:
//
//	OOM detected, reducing batch_size to 4
//	Attempting to copy inputs of <function pairwise_iou at 0x7f88> to CPU due to CUDA OOM
//	Executor creation failed due to insufficient GPU memory.
//	ERROR - asr - failed to allocate 2.00 GiB on the GPU
//	OOM! Skipping 0030.wav
//	Not enough GPU memory: 2.00 GiB needed, 0.50 GiB free
var ownWords = []string{
	" OOM", "OOM ", "OOM:", "OOM,", "OOM!", "[OOM",
	"nsufficient GPU memory", "nsufficient CUDA memory", "nsufficient device memory",
	"nsufficient video memory", "nsufficient VRAM",
	"ot enough GPU memory", "ot enough CUDA memory", "ot enough device memory",
	"ot enough video memory", "ot enough VRAM", "ot enough memory on ", "nsufficient memory on ",
	"out of CUDA memory", "out of video memory",
	"GPU memory exhausted", "GPU memory is exhausted", "VRAM exhausted", "CUDA memory exhausted",
	"evice memory exhausted",
	"ailed to allocate ", "nable to allocate ", "annot allocate ", "ould not allocate ",
}

// isOwnWord reports whether a text begins with one of ownWords. Failed allocations in other words
// have needles that begin elsewhere.
func isOwnWord(text []byte) bool {
	begins := func(words string) bool { return bytes.HasPrefix(text, []byte(words)) }
	return slices.ContainsFunc(ownWords, begins)
}

var (
	// shortage matches the words of a failure at one of ownWords.
	shortage = lex.Expression(`^(?:(?:ns|ot e)\w+ (?:(?:GPU|CUDA|device|video) memory|VRAM|` +
		`memory on (?:the )?(?:GPU|device|CUDA))\b|` +
		`out of (?:CUDA|video) memory|\w+ memory (?:is )?exhausted|VRAM exhausted|` +
		`\w+(?: not)?(?: to)? allocate \d[\d.,]* ?(?:[KMGTkmgt]i?[Bb]?|[Bb](?:ytes)?)\b` +
		`[^:;]{0,40}?` +
		` (?:on|from|in|of) (?:the )?(?:GPU|gpu|device|CUDA|VRAM)\b)`)
	// levelField matches a level in a line of fields or of JSON: level=error, "level": "warn".
	levelField = lex.Expression(`(?i)\b(?:level|severity)"?[=:] ?"?(?:error|warn|fatal|critical)`)
	// isLack matches the beginning of "not enough" and "insufficient".
	isLack = lex.Expression(`^(?:ns|ot e)`)
	// lackSizes matches "not enough GPU memory" with the size that is needed, which is a group, and
	// the size that is free: ": 2.00 GiB needed, 0.50 GiB free", "! Need 2048 MB, have 512 MB free".
	lackSizes = lex.Expression(`(?i)^(?:ns|ot e)\w+ (?:(?:GPU|CUDA|device|video) memory|VRAM)\W{1,3}` +
		`(?:(?P<needed>\d[\d.]* ?[KMGT]i?B) (?:is |are )?(?:needed|required|requested)|` +
		`(?:need(?:s|ed)?|requires?|required|requested):? (?:at least )?` +
		`(?P<needed>\d[\d.]* ?[KMGT]i?B))\b[^;\d]{1,48}\d[\d.]* ?[KMGT]i?B\b(?: is)?` +
		`(?: free| available|\W|$)`)
	// onHost matches the words of memory that is not on the device.
	onHost = lex.Expression(`(?i)\b(?:pinned|host|system|shared|cpu)\b`)
	// lastWords matches the text before "OOM" if it says that one happened: "due to a CUDA OOM".
	lastWords = lex.Expression(
		`(?i)(?:^|[^\w-])(?:due to|because of|hit|hits|got|caught|encountered|` +
			`recover(?:ed|ing)? from|crash(?:ed)? with|failed with|failed:|\w*Error:|\w+Exception:) ` +
			`(?:an? |the |another )?$`)
	// firstWords matches the text behind "OOM" if it says that one happened: "OOM detected".
	firstWords = lex.Expression(
		`(?i)^(?: error)? (?:detected|caught|encountered|occurred|hit|happened)\b`)
	// where matches the text behind an "OOM" that begins a message: "OOM at step 12".
	where = lex.Expression(
		`(?i)^(?: error)? (?:during|while|on|at|in|for|with|loading|when) |^!`)
	// otherMessage matches a failure's message that has more details than the program's own words.
	otherMessage = lex.Expression(`(?i)tried to allocate|out of memory|OutOfMemoryError|` +
		`ALLOC_FAILED|OUT_OF_MEMORY|RESOURCE_EXHAUSTED`)
	// allocatorMessage matches the allocator's message in another line.
	allocatorMessage = lex.Expression(`Tried to allocate|[Oo]utOfMemoryError: |ALLOC_FAILED|` +
		`RESOURCE_EXHAUSTED|(?:error:|failed:|with error|failure \d+) '?out of memory`)
)

// readOwnWords reads a failed allocation that a program reports in its own words. If the
// allocator's message is near, that message has the record. Then only the fallback is read.
func readOwnWords(l *scan.Line, at int) (end int) {
	if !isOwnWord(l.Text[at:]) {
		return 0
	}
	start, stop, ok := locateOwnWords(l, at)
	if !ok || otherMessage().Match(lex.FirstBytes(l.Text[stop:], shapeMax)) ||
		isOnlyNamed(l, start, stop) {
		return 0
	}
	begin := max(start-256, l.Head(start).Message(), len(l.Text[:start])-len(wordsBefore(l, start)))
	fallback := saysFallback(l.Text[stop:]) || movesOn().Match(l.Text[min(begin, start):start])
	header := l.Header(start)
	text := l.Message(min(begin, start))
	if isNearAllocator(l) {
		if !fallback {
			return 0
		}
		l.Add(record.Event{Header: header, Kind: record.EventFallback, Text: text})
		return len(l.Text)
	}
	m := gatherMessage(l, start)
	f := m.parseSizes()
	if !f.HasRequested {
		f.Requested, f.HasRequested = neededSize(l.Text[at:])
	}
	f.Header, f.Text = header, text
	f.Lane.Device, f.Lane.Rank = m.device(), l.Head(start).Rank()
	f.Batch = BatchNear(l, l.Text, "")
	l.Add(f)
	if fallback {
		l.Add(record.Event{Header: header, Kind: record.EventFallback, Text: text})
	}
	return len(l.Text)
}

// locateOwnWords returns the offsets of a failure's words around the needle at an offset. ok is
// false if the words do not say that an allocation failed on a device.
func locateOwnWords(l *scan.Line, at int) (start, stop int, ok bool) {
	text := l.Text
	i := bytes.Index(text[at:min(len(text), at+4)], []byte("OOM"))
	if i < 0 {
		match := shortage().Find(lex.FirstBytes(text[at:], shapeMax))
		for start = at; start > 0 && at-start < 64 && lex.IsWordByte(text[start-1]); {
			start--
		}
		ok = match != nil && !onHost().Match(match) && !isMovedOut(text[:at])
		if isLack().Match(match) { // "not enough VRAM" may also explain a decision of the program
			ok = ok && (hasErrorLevel(text[:start]) || levelField().Match(lex.FirstBytes(text, 256)) ||
				lastWords().Match(lex.LastBytes(text[:start], 64)) || saysSizes(l, start, at))
		}
		return start, at + len(match), ok
	}
	start, stop = at+i, at+i+len("OOM")
	if !isWord(text, start, stop) || bytes.HasPrefix(text[stop:], []byte(" when allocating ")) {
		return 0, 0, false
	}
	rest := lex.FirstBytes(text[stop:], shapeMax)
	device, named := locateDevice(text, start)
	if named {
		start = device
	}
	before := messageBefore(l, start)
	switch {
	case named:
		ok = len(before) == 0 && (where().Match(rest) || isEnd(rest))
	case bytes.HasSuffix(before, []byte("[")), bytes.HasSuffix(text[:start], []byte("[")):
		ok = isTag().Match(rest)
	default:
		ok = len(before) == 0 && where().Match(rest) && !goodLevel().Match(text[:min(start, 256)])
	}
	ok = ok || firstWords().Match(rest) || lastWords().Match(lex.LastBytes(before, 64)) ||
		len(before) == 0 && saysFallback(rest)
	return start, stop, ok
}

// saysSizes reports whether the lack of memory at an offset begins a message, which starts at
// another offset, and gives the sizes that are needed and free. It is then a failure without a
// level, unless the level says that all is well.
func saysSizes(l *scan.Line, start, at int) bool {
	return len(messageBefore(l, start)) == 0 &&
		lackSizes().Match(lex.FirstBytes(l.Text[at:], shapeMax)) &&
		!goodLevel().Match(l.Text[:min(start, 256)])
}

// neededSize returns the size that is needed, if a text says which one of the lack of memory.
func neededSize(text []byte) (s record.Size, ok bool) {
	m := lackSizes().FindSubmatch(lex.FirstBytes(text, shapeMax))
	if m == nil {
		return s, false
	}
	s, _, ok = lex.CutSize(append(m[1], m[2]...), 0)
	return s, ok
}

// isTag matches the text behind "[OOM" if that tag begins a message about a failure:
//
//	[OOM] skip video due to CUDA OOM: a.mp4
//	[OOM Warning] Skipping batch 12 due to CUDA OOM.
var isTag = lex.Expression(`(?i)^(?: warning| error)?\] .*` +
	`\b(?:skip|retry|reduc|lower|fail|caught|CUDA|GPU|batch)`)

// isEnd reports whether a message ends before a text, or goes on behind a comma or the like.
func isEnd(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || bytes.IndexByte([]byte("!,;.("), text[0]) >= 0
}

// isWord reports whether a part of a text is a word of its own. For "OOM", isWord returns false in
// "test_OOM", "OOM-killer" and "/OOM.md".
func isWord(text []byte, start, stop int) bool {
	joins := func(c byte) bool {
		return lex.IsWordByte(c) || bytes.IndexByte([]byte("-/=<"), c) >= 0
	}
	if start > 0 && (joins(text[start-1]) || text[start-1] == '.') {
		return false
	}
	return stop == len(text) || !joins(text[stop])
}

// isOnlyNamed reports whether a line only names the failure's words between two offsets.
func isOnlyNamed(l *scan.Line, start, stop int) bool {
	rest := lex.FirstBytes(l.Text[stop:], 64)
	before := l.Text[max(0, start-512):start]
	return l.Head(start).InSource() || isQuoted(l.Text, start) || IsRemark(l.Text, start) ||
		IsAbout(l.Text, start, stop) || zeroBehind().Match(rest) || testNameBefore().Match(before) ||
		isTopic(before) || canBeAvoided().Match(rest) ||
		segmentBefore().Match(before) && segmentTime().Match(lex.FirstBytes(l.Text, 1024))
}

var canBeAvoided = lex.Expression(
	`\b(?:may|can|might|could) (?:also )?(?:be|occur|happen)\b|\bis disabled\b`)

// isNearAllocator reports whether the allocator's message is in a line before this one, or behind
// it. Lines of a traceback may come between.
func isNearAllocator(l *scan.Line) bool {
	for n := 1; n <= nearLines; n++ {
		before, ok := l.Previous(n)
		if !ok {
			break
		}
		if allocatorMessage().Match(lex.FirstBytes(before, shapeMax)) {
			return true
		}
	}
	n, found := 0, false
	anyBehind(l, l.End, maxLinesBehind, func(text []byte) bool {
		if found = allocatorMessage().Match(text); found {
			return true
		}
		if !isIndented(text) && !bytes.Contains(text, tracebackWords) {
			n++
		}
		return n > nearLines
	})
	return found
}

// nearLines is the most lines between a program's own words and the allocator's message.
const nearLines = 8

// isReport matches the text between the beginning of a message and "out of memory" if the message
// says that memory ran out: "Warning: Ran ".
var isReport = lex.Expression(
	`(?i)^(?:warning:? )?\W*(?:(?:it|we|gpu) )?(?:ran|runs|run|went|encountered|hit|got|caught)?\s*$`)

// saysFallback reports whether the text behind a failure's words says that the program goes on
// with less memory:
//
//	CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU
//	CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).
//
// A program that skips a file or a batch does not do its work, so that is no fallback. Neither is
// advice: "Reducing the batch size may help".
func saysFallback(rest []byte) bool {
	rest = lex.FirstBytes(rest, shapeMax/2)
	return goesOn().Match(rest) && !givesUp().Match(rest)
}

var (
	goesOn = lex.Expression(`(?i)(?:^|[,;.:!\])]|->|—|–| -| and| now) ?\s*(?:` +
		`using (?:the )?(?:cpu|tiled|fallback|smaller)|falling back|fell back|re-?trying|` +
		`trying again|reduc(?:ing|ed)|decreas(?:ing|ed)|halv(?:ing|ed)|lower(?:ing|ed)|splitting|` +
		`emptying cache|increasing steps|switching to|offloading)\b|batch ?size will be decreased`)
	givesUp = lex.Expression(`(?i)\b(?:no|not|cannot|can't|without|disabled|gave up|giving up|` +
		`abort\w*|failed|exiting|irrecoverable|may|might|could|can|should|consider|please|help|helps)\b`)
	// movesOn matches the same before a failure's words: "Attempting to copy inputs of <function f
	// at 0x7f88> to CPU due to ".
	movesOn = lex.Expression(`(?i)\b(?:attempting to copy inputs|falling back|fell back|` +
		`retrying|switching|reducing) .*(?:due to|because of|after) (?:an? )?$`)
)
