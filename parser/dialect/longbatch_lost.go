package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// diarization is what a file goes on without on the fast path.
const diarization = "diarization"

// readFastPath reads that a file goes on without its speakers:
//
//	🚀 FALLBACK FAST-PATH: Always assuming Dr. Chaffee content
//	FALLBACK FAST-PATH: skipping diarization for file talk-012.wav
//
// In small letters the words also name a part of a program. They then count only at the beginning
// of a message, before a colon.
func readFastPath(l *scan.Line, at int, rest []byte) (end int) {
	behind := restOf(l, at, rest)
	if len(behind) > 0 && lex.IsTextByte(behind[0]) {
		return 0
	}
	capitals := bytes.HasPrefix(l.Text[at:], []byte("FALLBACK"))
	if !capitals && (!bytes.HasPrefix(behind, []byte(":")) || hasWords(l.Head(at).Words())) {
		return 0
	}
	word := lex.TrimBlanks(bytes.TrimLeft(lex.TrimBlanks(behind), ":="))
	if saysNo(word) || source.IsTemplate(behind) || !beginsClause(l, at) {
		return 0
	}
	return addEvent(l, at, record.Event{
		Kind: record.EventFallback, Lost: diarization, File: fileOf(l, at, behind),
	}, behindSkipping(rest))
}

// behindSkipping returns the text behind the words "skipping diarization", which is no second event
// of the line, or else the whole text.
func behindSkipping(text []byte) []byte {
	if m := skipping().FindIndex(lex.FirstBytes(text, eventMax)); m != nil {
		return text[m[1]:]
	}
	return text
}

var skipping = lex.Expression(`(?i)skipp(?:ing|ed)(?: speaker)? diarization`)

var (
	// lacksMemory matches the reason of a pipeline that lacks memory of the device.
	lacksMemory = lex.Expression(`(?i)(?:^|[^\w-])(?:memory|vram|oom|out-of-memory)(?:$|[^\w-])`)
	// byChoice matches the reason of a pipeline that was told to leave a stage out.
	byChoice = lex.Expression(`(?i)(?:^|[^\w-])(?:disabled|turned off|by default|by request|already|` +
		`cached|if|not (?:enabled|requested|needed|required))(?:$|\W)|--\w|config|setting|option|flag|` +
		`\w=\w|(?-i:\b[A-Z]+_[A-Z_]+\b)`)
	// noReason matches what may follow "Skipping diarization" if the line gives no reason.
	noReason = lex.Expression(`^(?:\s*(?:for|on|of) (?:this|the|that) (?:file|audio|recording))?` +
		`[\s.!…]*$`)
)

// readSkipped reads that the diarization is left out. If the line says that memory is the reason,
// that is a fallback. If it gives no reason, the lines around it may show one. Any other reason is
// a choice of the program or its user, and no event:
//
//	Skipping diarization: not enough GPU memory
//	Skipping diarization for talk-004.wav
//	Skipping diarization: disabled
func readSkipped(l *scan.Line, at int, rest []byte) (end int) {
	behind := rest
	rest = restOf(l, at, rest)
	if len(rest) > 0 && lex.IsTextByte(rest[0]) || source.IsTemplate(rest) ||
		!beginsClause(l, at) || saysNo(lex.TrimBlanks(rest)) {
		return 0
	}
	rest = source.Unquoted(rest)
	before := lex.LastBytes(withoutBrackets(l.Head(at).Words()), eventMax)
	e := record.Event{Lost: diarization, File: fileOf(l, at, rest)}
	reason := rest
	if _, behind, ok := bytes.Cut(rest, []byte(e.File)); ok && e.File != "" {
		reason = behind
	}
	switch {
	case byChoice().Match(before) || byChoice().Match(reason):
		return 0
	case lacksMemory().Match(before) || lacksMemory().Match(reason):
		e.Kind = record.EventFallback
	case !hasWords(withoutTags(before)) && noReason().Match(reason):
		e.Kind = record.EventSkipped
	default:
		return 0
	}
	return addEvent(l, at, e, behind)
}

// beginsClause reports whether the text at an offset begins the line's message or a clause of it,
// so that no word before it can change its meaning.
func beginsClause(l *scan.Line, at int) bool {
	before := bytes.TrimRight(withoutTags(l.Head(at).Words()), " \t")
	return len(before) == 0 || !lex.IsWordByte(before[len(before)-1])
}

// hasWords reports whether a text has a letter or a digit.
func hasWords(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool {
		return r < 0x80 && lex.IsWordByte(byte(r))
	})
}

// withoutTags returns the words before an event without tags, a level, or the name of a logger or
// a file: "[3/5] ", "WARNING: ", "asr - ", "talk-003.wav: ".
func withoutTags(words []byte) []byte {
	words = withoutBrackets(words)
	for range 2 {
		words = withoutBrackets(words[len(nameTag().Find(words)):])
	}
	return words
}

// withoutBrackets returns the words before an event without tags in brackets.
func withoutBrackets(words []byte) []byte { return words[len(bracketTags().Find(words)):] }

var (
	bracketTags = lex.Expression(`^(?:\s*\[[^\]]{1,32}\]){1,3}\s*`)
	nameTag     = lex.Expression(`^\s*[\w./\\-]{1,128}(?: -|:)(?:\s+|$)`)
)

// fileOf returns the file that a line names, behind the event's words or before them.
func fileOf(l *scan.Line, at int, behind []byte) string {
	if name := fileIn(behind); name != nil {
		return l.Str(name)
	}
	before := withoutBrackets(l.Head(at).Words())
	name := bytes.TrimRight(nameTag().Find(before), " \t:-")
	if !extension().Match(name) {
		return ""
	}
	return l.Str(bytes.TrimSpace(name))
}

// fileIn returns the file that the text behind an event names, or nil:
//
//	: skipping diarization for file talk-012.wav
//	 for talk-003.wav due to low VRAM
func fileIn(text []byte) []byte {
	text = source.Unquoted(text)
	m := fileBehind().FindSubmatchIndex(text)
	if m == nil {
		return nil
	}
	named := m[2] >= 0
	name := text[m[1]:]
	if cut := fileEnd().FindIndex(name); cut != nil {
		name = name[:cut[0]]
	}
	name = bytes.Trim(name, " \t\"'`.,;:!()")
	looksLikeFile := named || bytes.ContainsAny(name, `/\`) || extension().Match(name)
	if !looksLikeFile || len(name) > scan.NameMax {
		return nil
	}
	return name
}

var (
	// fileBehind matches the words before a file's name. The group says that a file follows.
	fileBehind = lex.Expression(`(?i)(?:^|[^\w-])(?:for|on|of|in) (?:(file|video|recording) )?`)
	// fileEnd matches what ends a file's name.
	fileEnd = lex.Expression(`(?i)[,;:] |[:;,]$| [(\[]| (?:because|due|after|since|as|and|--?|–|—) `)
	// extension matches the name of a file with an extension.
	extension = lex.Expression(`\.[A-Za-z]\w{1,4}$`)
)
