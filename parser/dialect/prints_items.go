package dialect

import (
	"bytes"
	"slices"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A printItem is a size in a line, with its label.
type printItem struct {
	start, end int // offsets in the line: of the label, and behind the size
	label      printLabel
	q          record.Quantity
	size       record.Size
	bad        bool // the label or the text behind the size has an unknown word
	bare       bool // the size has no label
	part       bool // the size follows "/" or "of"
}

// A printLine holds the sizes of a line.
type printLine struct {
	items   []printItem
	before  []byte     // the text of the message before the first label
	behind  []byte     // the text behind the last size: " after epoch 3"
	context printWord  // the words GPU and memory in the text before the first label
	lane    printLane  // the device and the rank that this text or a label names
	end     int        // offset behind the last size
	alone   bool       // the line has nothing else than sizes, up to its end
	fields  []byte     // the text around the sizes, which may have fields: "gpu=1"
	more    int        // offset behind which the line goes on with another device, or 0
	indexed bool       // the line has a list in which "index" is the number of a device
	first   *printItem // the first size of the line, maybe of another device
	seen    int        // offset behind the last number that was looked at, or 0
}

// parsePrint reads the sizes of a line, from the offset at which its message begins. The parameter
// at is the offset of the needle. Another record of the line ends at the offset read. parsePrint
// stops where another record begins: at a quantity that it has read already, at another device and
// at another moment.
func parsePrint(text []byte, from, at, read int) (p printLine) {
	near := text[max(0, read, from-scan.Near):min(len(text), from+printMax)]
	p.indexed = bytes.Count(near, []byte(`"index":`)) > 1
	p.parse(text, from, at, read)
	return p
}

// parse is [parsePrint] of a line whose fields indexed and first are set.
func (p *printLine) parse(text []byte, from, at, read int) {
	stop := min(len(text), from+printMax)
	p.alone, p.lane = true, noLane
	others := 0  // numbers behind the needle and the last item that are no items
	last := from // end of the size before
	fieldsEnd := len(text)
	var before printItem // the size before, which may be none of the items
	for i := from; i < stop && len(p.items) < printItemsMax && others < printNumbersMax; {
		if !lex.IsDigit(text[i]) {
			i++
			continue
		}
		if i > from && isInWord(text, i) {
			for i < stop && (lex.IsWordByte(text[i]) || text[i] == '.') {
				i++
			}
			continue
		}
		if i > at {
			others++
		}
		p.seen = i + 1
		item, ok := cutItem(text, last, i)
		if !ok {
			for i < stop && (lex.IsDigit(text[i]) || text[i] == '.') {
				i++
			}
			continue
		}
		kept := len(p.items) > 0 && before.end == p.items[len(p.items)-1].end
		wasBare := before.bare
		item.readBehind(text, &before)
		if item.bare || item.label.words&saysQuantity == 0 {
			item.takeFrom(p.first)
		}
		switch {
		case kept:
			p.items[len(p.items)-1] = before
		case wasBare && !before.bare && len(p.items) == 0: // "8 GB of 24 GB VRAM used"
			p.before = text[from:before.start]
			p.context, p.lane = contextOf(text[max(0, before.start-printLabelMax, read):before.start])
			p.items = append(p.items, before)
		case item.part:
			item.bad = true // the total of something else
		}
		if ends, more := p.endsAt(&item, text[last:item.start], last); ends {
			p.alone, p.more, fieldsEnd = false, more, max(more, last)
			break
		}
		before = item
		last, i = item.end, item.end
		if item.bare || len(p.items) == 0 && item.bad { // the size of something else
			continue
		}
		if len(p.items) == 0 {
			p.before = text[from:item.start]
			above := text[max(0, item.start-printLabelMax, read):item.start]
			context, lane := contextOf(above)
			p.context, p.lane = context, item.label.lane
			p.lane.add(lane)
			p.lane.add(fieldLane(above, p.indexed))
		}
		p.lane.add(item.label.lane)
		p.items = append(p.items, item)
		others = 0
		if p.first == nil {
			p.first = &item
		}
	}
	if len(p.items) == 0 {
		return
	}
	start := p.items[0].start
	p.fields = text[max(0, start-scan.Near, read):min(fieldsEnd, start+scan.Near)]
	p.end = p.items[len(p.items)-1].end
	p.behind = text[p.end:stop]
	p.before = bytes.TrimFunc(p.before, isOrnament)
	p.alone = p.alone && stop == len(text) && len(bytes.TrimFunc(p.behind, isOrnament)) == 0
}

// takeFrom gives an item without a word for its quantity the quantity of the line's first item. It
// does so if the item names another moment or another device:
//
//	GPU memory used before: 1.2 GB, after: 0.3 GB
//	GPU memory allocated: 1 GB (GPU 0), 2 GB (GPU 1)
func (item *printItem) takeFrom(first *printItem) {
	if first == nil || item.part || item.bad || !item.isMoved(first) &&
		(!item.bare || item.label.lane == noLane || first.label.lane == noLane) {
		return
	}
	item.label.words |= first.label.words
	item.bare = false
	item.setQuantity()
}

// isMoved reports whether the item's label names a moment with "before" or "after", and the first
// item of the line is of another moment.
func (item *printItem) isMoved(first *printItem) bool {
	return startsMoment(append(bytes.Clone(item.label.moment), ' ')) &&
		!bytes.Equal(item.label.moment, first.label.moment)
}

// endsAt reports whether another record begins with an item. The parameter between is the text
// before the item's label, from the offset last on, at which the size before ends. If the other
// record is of another device or another moment, more is the offset behind which its text begins.
// Else it is 0.
//
// The name of a device may precede the sizes or follow them:
//
//	GPU 0: 7.23 GB allocated | GPU 1: 0.50 GB allocated
//	allocated_mb=512 gpu=0 allocated_mb=256 gpu=1
//	GPU memory before=3.2GB after=1.1GB
func (p *printLine) endsAt(item *printItem, between []byte, last int) (ends bool, more int) {
	if len(p.items) == 0 || item.bare {
		return false, 0
	}
	_, lane := contextOf(between)
	lane.add(fieldLane(between, p.indexed))
	again := p.has(item)
	own := item.label.lane
	if own == noLane && again && p.lane == noLane && lane != noLane { // it follows the sizes
		p.lane = lane
		return true, item.start
	}
	own.add(lane)
	isNamed := item.label.moment != nil || own != noLane && p.lane == noLane
	if own.differs(p.lane) || again && isNamed || item.isMoved(&p.items[0]) {
		return true, last
	}
	return again, 0
}

// differs reports whether two lanes name different devices or ranks.
func (lane printLane) differs(o printLane) bool {
	return lane.device >= 0 && o.device >= 0 && lane.device != o.device ||
		lane.rank >= 0 && o.rank >= 0 && lane.rank != o.rank
}

// isOrnament reports whether a character only decorates a line: a blank, a bar, an emoji, a sign of
// a percentage.
func isOrnament(r rune) bool {
	return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < '_' || r > 'z' && r < 0xc0 ||
		r >= 0x2000 && r < 0x2e80 || r >= 0xfe00 && r < 0xff00 || r > 0xffff
}

// isInWord reports whether the digit at an offset goes on with a word or a number, or is negative:
// "A100", "1,5", "-3".
func isInWord(text []byte, i int) bool {
	switch before := text[i-1]; before {
	case '.', ',':
		return i > 1 && lex.IsDigit(text[i-2])
	case '-', '+':
		return true
	default:
		return lex.IsWordByte(before)
	}
}

// has reports whether the line has the quantity of an item already.
func (p *printLine) has(item *printItem) bool {
	for i := range p.items {
		if !item.bad && !p.items[i].bad && p.items[i].q == item.q {
			return true
		}
	}
	return false
}

// cutItem reads the size at an offset of the line and the label before it. The parameter last is
// the end of the size before. ok is false if the number has no unit.
func cutItem(text []byte, last, i int) (item printItem, ok bool) {
	n, rest, ok := cutAmount(text[i:])
	if !ok {
		return item, false
	}
	unit, behind := cutPrintUnit(rest)
	if unit == 0 {
		unit, behind = unitOfTotal(rest), rest
	}
	if unit == 0 && len(rest) > 0 && (lex.IsWordByte(rest[0]) || rest[0] == '%') {
		return item, false
	}
	before := text[max(last, i-printLabelMax):i]
	if unit == 0 && !mayEndInUnit(before) && !isTorchCall(before) {
		return item, false // reading the label takes time
	}
	item.cutLabel(before, i)
	if unit == 0 {
		unit, behind = item.label.unit, rest
	}
	if unit == 0 && n.Decimals == 0 && isTorchCall(before) {
		unit = 1
	}
	if unit == 0 {
		return item, false
	}
	item.size, ok = n.Times(unit)
	item.end = len(text) - len(behind)
	return item, ok && n.Digits >= 0
}

// cutAmount cuts a number off the text. It may have commas before every three digits.
func cutAmount(text []byte) (n lex.Decimal, rest []byte, ok bool) {
	if digits := lex.CountDigits(text); digits <= 3 && len(text) > digits+3 && text[digits] == ',' &&
		lex.CountDigits(text[digits+1:]) == 3 {
		whole, rest, ok := lex.CutGrouped(text)
		if ok && (len(rest) == 0 || rest[0] != '.' && rest[0] != ',') {
			return lex.Decimal{Digits: whole}, rest, true
		}
		return n, text, false
	}
	n, rest, ok = lex.CutNumber(text)
	if ok && len(rest) > 1 && (rest[0] == ',' || rest[0] == '.') && lex.IsDigit(rest[1]) {
		return n, text, false // "1,23 GB", "1.2.3"
	}
	return n, rest, ok
}

// cutPrintUnit cuts a unit off the text behind a number. A unit of one letter must be a capital:
// "4.1G". "GB/s" is no unit of memory.
func cutPrintUnit(text []byte) (unit int64, rest []byte) {
	unit, rest = lex.CutUnit(text)
	word := bytes.TrimSpace(text[:len(text)-len(rest)])
	switch {
	case unit == 0, len(word) == 1 && (word[0] >= 'a' || word[0] != 'B' && word[0] != text[0]):
		return 0, text
	case len(rest) > 0 && (lex.IsTextByte(rest[0]) || rest[0] == '-'),
		len(rest) > 1 && rest[0] == '/' && isLetter(rest[1]):
		return 0, text
	}
	return unit, rest
}

// unitOfTotal returns the unit of the second number in "9.2/15.9GB", or 0.
func unitOfTotal(text []byte) int64 {
	rest, ok := lex.CutPrefix(lex.TrimBlanks(text), "/")
	if !ok {
		return 0
	}
	_, rest, ok = cutAmount(lex.TrimBlanks(rest))
	if !ok {
		return 0
	}
	unit, _ := cutPrintUnit(rest)
	return unit
}

// mayEndInUnit reports whether the last letter of a label ends a unit in [printUnits]. A digit must
// not follow it.
func mayEndInUnit(label []byte) bool {
	for _, c := range slices.Backward(label) {
		if isLetter(c) || lex.IsDigit(c) {
			return bytes.IndexByte([]byte("bes"), c|0x20) >= 0
		}
	}
	return false
}

// isTorchCall reports whether a label is a call of PyTorch that returns bytes, as Python's
// f"{torch.cuda.memory_allocated()=}" prints it.
func isTorchCall(label []byte) bool {
	label = bytes.TrimRight(label, " \t:=")
	i := bytes.LastIndexByte(label, '(')
	if i < 0 || label[len(label)-1] != ')' {
		return false
	}
	call := label[:i]
	return bytes.HasSuffix(call, []byte("memory_allocated")) ||
		bytes.HasSuffix(call, []byte("memory_reserved"))
}

// cutLabel reads the label in a text that ends at an offset of the line, before the size.
func (item *printItem) cutLabel(before []byte, end int) {
	item.label.lane = noLane
	text := bytes.TrimRight(before, " \t\"'")
	separated, glued := false, false
	for _, sep := range []string{"：", ":", "="} {
		if rest, ok := bytes.CutSuffix(text, []byte(sep)); ok {
			text = bytes.TrimRight(rest, " \t\"'")
			separated, glued = true, sep == "=" && len(text) == len(rest)
			break
		}
	}
	quoted := len(text) < len(before) && (before[len(text)] == '"' || before[len(text)] == '\'')
	text = withoutParens(text)
	boundary := lastBoundary(text)
	boundary += endOfValue(text, boundary)
	segment := text[boundary:]
	trimmed := bytes.TrimLeft(segment, " \t")
	item.start = end - len(before) + boundary + len(segment) - len(trimmed)
	segment = trimmed
	switch string(segment) {
	case "":
		item.bare = true
		return
	case "/", "of", "out of":
		item.label.words, item.part = saysTotal, true
		return
	}
	label, ok := readLabel(segment)
	isKey := separated && (glued || quoted)
	if isKey && !ok { // the text before a field is not a part of its key: "After A  allocated_mb=1"
		key := segment[bytes.LastIndexAny(segment, " \t")+1:]
		if label, ok = readLabel(key[bytes.LastIndexByte(key, '/')+1:]); ok {
			item.start += len(segment) - len(key)
		}
	}
	label.isKey = isKey && (label.unit > 0 || bytes.IndexByte(segment, '_') >= 0)
	item.label = label
	item.bad = !ok || !separated && label.words&saysQuantity == 0
	if !ok && !separated && len(segment) == 1 {
		item.bare = true
	}
}

// endOfValue returns the length of the value of a field, if it begins at an offset of a text. The
// value ends at a blank: in "stage=before allocated_mb", the label is "allocated_mb".
func endOfValue(text []byte, at int) int {
	if at < 2 || text[at-1] != '=' || at == len(text) || !lex.IsWordByte(text[at-2]) {
		return 0
	}
	return max(0, bytes.IndexAny(text[at:], " \t"))
}

// readBehind reads the words behind the size: "1.25GB allocated". Then it sets the quantity. The
// item before is the size before, to which the words belong in "8 GB of 24 GB used".
func (item *printItem) readBehind(text []byte, before *printItem) {
	named := item.label.words&saysQuantity != 0 && !item.part
	rest := text[item.end:min(len(text), item.end+printLabelMax)]
	if item.part && item.start > 0 && text[item.start-1] == '(' && len(rest) > 0 && rest[0] == ')' {
		item.end, rest = item.end+1, rest[1:] // "8.1 GB (of 24 GB) used"
	}
	for range 4 {
		blanks := len(rest) - len(lex.TrimBlanks(rest))
		word := rest[blanks : blanks+countLetters(rest[blanks:])]
		known := printWords[lower(word)]
		next := lex.TrimBlanks(rest[blanks+len(word):])
		isLabel := len(next) > 0 && (next[0] == ':' || next[0] == '=')
		if len(word) == 0 || isLabel || known != 0 && named || known != 0 && lex.BeginsWithNumber(next) &&
			item.label.words&saysQuantity != 0 {
			break
		}
		if known == 0 {
			if !printBehind[lower(word)] {
				item.bad = true
			}
			break
		}
		if item.part && before.takes(known&saysQuantity) {
			known &^= saysQuantity
		}
		if item.part && known&saysQuantity&^saysTotal != 0 { // "1.2GB allocated / 2.0GB reserved"
			item.label.words, item.part = 0, false
		}
		item.label.words |= known
		if item.part && before.bare && known&(saysGPU|saysMemory) != 0 {
			before.label.words |= known & (saysGPU | saysMemory)
		}
		item.bare = item.bare && known&saysQuantity == 0
		item.end += blanks + len(word)
		rest = rest[blanks+len(word):]
	}
	lane, n := laneBehind(rest, bytes.HasSuffix(text[:item.end], []byte(" on")))
	item.label.lane.add(lane)
	item.end += n
	if !item.bare {
		item.setQuantity()
	}
	if item.part && item.q == record.Total && item.size.High() < before.size.Low() {
		item.bad, before.bad = true, true // "used (before/after): 1.2 GB / 0.3 GB"
	}
	if isChanged(rest) {
		item.bad = true
	}
}

// isChanged reports whether an arrow to another number begins a text: the line
// "GPU memory used: 1.2 GB -> 0.3 GB" gives a change, and no level.
func isChanged(text []byte) bool {
	text = lex.TrimBlanks(text)
	for _, arrow := range []string{"->", "→", "=>"} {
		if rest, ok := lex.CutPrefix(text, arrow); ok {
			return lex.BeginsWithNumber(lex.TrimBlanks(rest))
		}
	}
	return false
}

// laneBehind returns the device or the rank in the brackets with which a text begins, and the
// length of the text with them: " (GPU 1), 2 GB". Behind the word "on", which may precede the text,
// there need not be brackets: "on GPU 1".
func laneBehind(text []byte, on bool) (lane printLane, n int) {
	rest := lex.TrimBlanks(text)
	if behind, ok := lex.CutPrefix(rest, "on "); ok {
		rest, on = behind, true
	}
	start, end := 0, 0
	switch {
	case len(rest) > 0 && (rest[0] == '(' || rest[0] == '['):
		start, end = 1, bytes.IndexAny(rest, ")]")
		n = end + 1
	case on:
		end = max(0, bytes.IndexAny(rest, "0123456789"))
		end += lex.CountDigits(rest[end:])
		n = end
	}
	if end <= start {
		return noLane, 0
	}
	label, ok := readLabel(rest[start:end])
	if !ok || label.lane == noLane || label.words&^saysGPU != 0 || label.unit > 0 {
		return noLane, 0
	}
	return label.lane, len(text) - len(rest) + n
}

// setQuantity sets the quantity by the words of the label.
func (item *printItem) setQuantity() {
	q, ok := item.label.quantity()
	item.q, item.bad = q, item.bad || !ok
}

// takes reports whether the words behind a total are about the size before the total, which is
// item. It then adds the words to this item.
//
//	VRAM: 8.10 GB of 24.00 GB used
//	VRAM used: 8.10 GB of 24.00 GB used
//
// "7.2 GB / 8.1 GB reserved" gives two sizes.
func (item *printItem) takes(words printWord) bool {
	if words == 0 || words&(saysTotal|saysReserved|saysCached) != 0 || item.end == 0 || item.bad {
		return false
	}
	if own := item.label.words & saysQuantity; own != 0 && !item.bare {
		return own&words != 0
	}
	item.label.words |= words
	item.bare = false
	item.setQuantity()
	return !item.bad
}

// printBehind are the words that may follow a size and its quantity: "1.2 GB after epoch 3". Other
// words say what the size is of: "1.2 GB required".
var printBehind = map[string]bool{
	"after": true, "before": true, "at": true, "during": true, "of": true, "out": true, "over": true,
	"rank": true, "epoch": true, "step": true, "iter": true, "iteration": true, "batch": true,
	"when": true, "while": true, "since": true,
}

// countLetters returns the number of ASCII letters with which the text begins.
func countLetters(text []byte) (n int) {
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	return n
}

// lower returns a word in lower case.
func lower(word []byte) string { return string(bytes.ToLower(lex.FirstBytes(word, 16))) }

// withoutParens returns a label without the parentheses of a call at its end, and with a unit in
// parentheses as a word: "GPU memory (GB)".
func withoutParens(text []byte) []byte {
	open := bytes.LastIndexAny(text, "([")
	if open <= 0 || len(text) == 0 || text[len(text)-1] != ')' && text[len(text)-1] != ']' {
		return text
	}
	inside := bytes.ToLower(bytes.TrimSpace(text[open+1 : len(text)-1]))
	if printUnits[string(inside)] > 0 {
		joined := append(bytes.TrimRight(bytes.Clone(text[:open]), " \t"), '_')
		return append(joined, inside...)
	}
	if text[open] == '(' && len(inside) <= 16 && !bytes.ContainsAny(inside, " %") {
		return text[:open] // "torch.cuda.memory_allocated(device)"
	}
	return text
}

// lastBoundary returns the offset behind the last character that ends the text before a label: a
// bar, a comma, an emoji, the dash in "Loading done - GPU memory".
func lastBoundary(text []byte) int {
	for i, c := range slices.Backward(text) {
		switch {
		case c == ':' && i > 0 && i+1 < len(text) && lex.IsDigit(text[i+1]) && isLetter(text[i-1]):
			if !bytes.HasSuffix(bytes.ToLower(text[:i]), []byte("cuda")) {
				return i + 1 // "cuda:0" is one word
			}
		case c >= 0x80, bytes.IndexByte([]byte("|,;:()[]{}<>\"'=!?`+&"), c) >= 0:
			return i + 1
		case c == '-' && i > 0 && text[i-1] == ' ' && (i+1 == len(text) || text[i+1] == ' '):
			return i + 1
		}
	}
	return 0
}
