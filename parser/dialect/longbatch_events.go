package dialect

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/dialect/failure"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A pipelineEvent is a line that pipelines print beside their checkpoints. Programs write it with a
// small or a capital letter at its beginning, or in capitals.
type pipelineEvent struct {
	words string // in small letters
	// needle is the part of the words to search for. Words that logs are full of, such as "audio" and
	// "diarization", would slow down the search.
	needle string
	// read reads the event. The parameter at is the offset of its first letter, and rest is the text
	// behind the words. read returns 0 if the line says something else.
	read func(l *scan.Line, at int, rest []byte) (end int)
}

// pipelineEvents returns the lines of pipelines: those of [longBatchDialect]'s program, and of
// faster-whisper, which it runs.
//
//	✅ Progress: 10/32 batches (160 embeddings extracted)
//	Extracted 500 embeddings from a.wav in 45.2s (11.1 emb/sec)
//	Processing audio with duration 45:14.877
//	🚀 FALLBACK FAST-PATH: Always assuming Dr. Chaffee content
//	Skipping diarization for a.wav: not enough GPU memory
//	🧹 Cleared GPU cache after voice enrollment
func pipelineEvents() []pipelineEvent {
	return []pipelineEvent{
		{"progress: ", "rogress: ", readBatchProgress},
		{"extracted ", "tract", readExtraction},
		{"processing audio with duration", "h dura", readAudioLength},
		{"fallback fast-path", "ck fast-path", readFastPath},
		{inCapitals, "ck fast path", readFastPath},
		{"skipping diarization", "kipping dia", readSkipped},
		{"skipped diarization", "kipped dia", readSkipped},
		{"skipping speaker diarization", "kipping speaker dia", readSkipped},
		{"skipped speaker diarization", "kipped speaker dia", readSkipped},
		{"cleared gpu cache", "u cache", readCacheCleared},
		{"cleared cuda cache", "a cache", readCacheCleared},
	}
}

// inCapitals are words that are read in capitals only.
const inCapitals = "fallback fast path"

// pipelineNeedles returns the needles of pipelineEvents.
func pipelineNeedles() (needles []string) {
	for _, e := range pipelineEvents() {
		if needles = append(needles, strings.ToUpper(e.needle)); e.words != inCapitals {
			needles = append(needles, e.needle)
		}
	}
	return append(needles, "ck Fast-Path", "kipping Dia", "kipping Speaker Dia", "U cache", "A cache")
}

// readPipelineEvent reads the event of a needle at the offset `at`.
func readPipelineEvent(l *scan.Line, at int) (end int) {
	for _, e := range pipelineEvents() {
		start := at - strings.Index(e.words, e.needle)
		if start < 0 {
			continue
		}
		rest, ok := cutFold(l.Text[start:], e.words)
		switch {
		case !ok:
		case start > 0 && lex.IsWordByte(l.Text[start-1]), isQuotedEvent(l, start):
			return 0
		default:
			return e.read(l, start, rest)
		}
	}
	return 0
}

// isQuotedEvent reports whether an event is only quoted: in program source, in a comment, or in a
// transcript of what somebody said.
func isQuotedEvent(l *scan.Line, at int) bool {
	message := lex.TrimBlanks(l.Logged())
	return l.Head(at).InSource() || source.IsQuoted(l.Text, at) ||
		failure.IsTranscript(lex.LastBytes(l.Text[:at], eventMax)) ||
		bytes.HasPrefix(message, []byte("#")) || bytes.HasPrefix(message, []byte("//"))
}

// cutFold cuts a word off the beginning of a text, in upper or lower case. The word must be in
// lower case.
func cutFold(text []byte, word string) (rest []byte, ok bool) {
	if len(text) < len(word) || !equalFold(text[:len(word)], word) {
		return text, false
	}
	return text[len(word):], true
}

// restOf returns what belongs to an event behind its words: the rest of the line or, if the message
// is the value of a field in JSON or logfmt, the rest of the value.
func restOf(l *scan.Line, at int, rest []byte) []byte {
	rest = lex.FirstBytes(rest, eventMax)
	if start := l.Head(at).Message(); start > 0 && l.Text[start-1] == '"' {
		return source.FieldValue(rest)
	}
	return rest
}

// eventMax is how much text of a line belongs to an event. A path may be in it.
const eventMax = 1 << 10

// addEvent adds an event whose text is the line's message. It returns the offset at which the text
// behind begins, because other dialects may read the message of a failure there.
func addEvent(l *scan.Line, at int, e record.Event, behind []byte) (end int) {
	e.Header, e.Text = l.Header(at), l.Message(l.Head(at).Message())
	e.Lane.Rank = l.Head(at).Rank()
	l.Add(e)
	return len(l.Text) - len(behind)
}

// readBatchProgress reads how many batches or segments the embeddings have done:
//
//	✅ Progress: 10/125 batches (40 embeddings extracted)
//	✅ Progress: 80/320 segments (78 embeddings extracted)
func readBatchProgress(l *scan.Line, at int, rest []byte) (end int) {
	done, rest, ok := lex.CutGrouped(rest)
	rest, slash := lex.CutPrefix(lex.TrimBlanks(rest), "/")
	all, rest, okAll := lex.CutGrouped(lex.TrimBlanks(rest))
	if !ok || !slash || !okAll || done > all {
		return 0
	}
	behind, batches := cutFold(rest, " batches")
	if !batches {
		behind, batches = cutFold(rest, " segments")
	}
	if !batches || len(behind) > 0 && lex.IsTextByte(behind[0]) {
		return 0
	}
	e := record.Event{
		Header: l.Header(at), Kind: record.EventProgress, Text: l.Message(at),
		Figures: record.Figures{Done: done, Of: all},
	}
	e.Lane.Rank = l.Head(at).Rank()
	if text, open := lex.CutPrefix(behind, " ("); open {
		if n, text, ok := lex.CutGrouped(text); ok {
			if _, ok = cutFold(text, " embeddings extracted"); ok {
				e.Items = n
			}
		}
	}
	l.Add(e)
	return len(l.Text)
}

var (
	// embeddingNoun matches what is extracted, behind its number. No other noun follows.
	embeddingNoun = lex.Expression(`(?i)^(?:/\d[\d,]*)?(?: (?:voice|speaker|audio|text|segment))?` +
		` embeddings?(?:$|[^\w\s-]| (?:in|from|for|at|with|\() ?| \W)`)
	// embeddingWord matches the noun without what follows it.
	embeddingWord = lex.Expression(`(?i)^.* embeddings?`)
	// embeddingsBefore matches "500 embeddings ", before "extracted".
	embeddingsBefore = lex.Expression(`(?i)(?:^|[^\w.,-])(\d[\d,]*)` +
		`(?: (?:voice|speaker|audio|text|segment))? embeddings? $`)
	// embeddingRate matches the embeddings a second.
	embeddingRate = lex.Expression(`(?i)(?:^|[^\w.,-])(\d[\d,]*(?:\.\d+)?) ?(?:emb|embs|embeddings?)` +
		`(?: ?/ ?s(?:ec(?:ond)?)?| (?:per|a) sec(?:ond)?)(?:$|\W)`)
	// timeTaken matches what precedes the time that the work took.
	timeTaken = lex.Expression(`(?i)(?:^| )in \d`)
)

// readExtraction reads how many embeddings were extracted, and how fast:
//
//	Extracted 500 embeddings in 12.3s (40.7 emb/sec)
//	Extracted 500 embeddings from /tmp/a.wav in 45.2s (11.1 emb/sec)
//	500 embeddings extracted in 12.3 seconds
func readExtraction(l *scan.Line, at int, rest []byte) (end int) {
	e := record.Event{Kind: record.EventExtracted}
	behind, ok := rest, false
	if before := embeddingsBefore().FindSubmatch(lex.LastBytes(l.Text[:at], 64)); before != nil {
		e.Items, _, ok = lex.CutGrouped(before[1])
	} else if e.Items, behind, ok = lex.CutGrouped(rest); ok {
		noun := embeddingNoun().Find(lex.FirstBytes(behind, 64))
		ok = noun != nil
		behind = behind[len(embeddingWord().Find(noun)):]
	}
	behind = restOf(l, at, behind)
	if !ok || source.IsTemplate(behind) {
		return 0
	}
	if rate := embeddingRate().FindSubmatch(behind); rate != nil {
		n, _, _ := lex.CutNumber(bytes.ReplaceAll(rate[1], []byte(","), nil))
		e.Rate = n.Float()
	}
	for _, in := range slices.Backward(timeTaken().FindAllIndex(behind, 16)) { // a path may have some
		if seconds, _, ok := lex.CutDuration(behind[in[1]-1:]); ok {
			e.Seconds = seconds
			break
		}
	}
	text := bytes.TrimSpace(behind)
	if _, from := cutFold(text, "from "); e.Rate == 0 && e.Seconds == 0 && !from &&
		len(bytes.Trim(text, "s.!,")) > 0 {
		return 0
	}
	return addEvent(l, at, e, rest)
}

// maxAudio is the longest audio in seconds, some months. A longer one is no length of a file.
const maxAudio = 1e7

// readAudioLength reads the length of a file's audio, as faster-whisper prints it:
//
//	Processing audio with duration 12:34.567
//	Processing audio with duration 01:02:50.572
func readAudioLength(l *scan.Line, at int, rest []byte) (end int) {
	rest, _ = lex.CutPrefix(rest, ":")
	text, blank := lex.CutPrefix(rest, " ")
	seconds, behind, ok := lex.CutDuration(text)
	more := len(behind) > 0 && (lex.IsTextByte(behind[0]) || behind[0] == ':')
	if !ok || !blank || more || seconds > maxAudio || !beginsClause(l, at) {
		return 0
	}
	return addEvent(l, at, record.Event{
		Kind: record.EventAudio, Figures: record.Figures{Seconds: seconds},
	}, behind)
}

// readCacheCleared reads that the pipeline gave its cache back, and how much that was if the line
// says so:
//
//	🧹 Cleared GPU cache before ASR
//	Cleared GPU cache (freed 1.23 GB)
func readCacheCleared(l *scan.Line, at int, rest []byte) (end int) {
	text := restOf(l, at, rest)
	word := lex.TrimBlanks(bytes.TrimLeft(text, ":="))
	if len(text) > 0 && (lex.IsTextByte(text[0]) || text[0] == '?') || saysNo(word) ||
		source.IsTemplate(text) {
		return 0
	}
	if words := lastWord(l.Text[l.Head(at).Message():at]); slices.Contains(notDone, words) {
		return 0
	}
	e := record.Event{Kind: record.EventCacheCleared}
	if m := freedSize().FindSubmatchIndex(text); m != nil {
		if s, _, ok := lex.CutSize(text[max(m[2], m[4]):], 0); ok && s.Bytes > 0 {
			e.Freed = s
		}
	}
	return addEvent(l, at, e, rest)
}

// freedSize matches the size that was freed.
var freedSize = lex.Expression(`(?i)(?:freed|released|recovered):? ~?(\d[\d.]* ?[KMGT]i?B)\b|` +
	`(\d[\d.]* ?[KMGT]i?B) (?:freed|released|recovered)\b`)

// notDone are words before "cleared GPU cache" with which the line says something else.
var notDone = []string{
	"not", "never", "be", "being", "if", "when", "until", "unless", "you", "we", "the", "a", "of",
	"with", "without", "have", "should", "would",
}

// lastWord returns the last word of a text in lower case. It returns "" if the text ends with
// anything else.
func lastWord(text []byte) string {
	text = bytes.TrimRight(text, " \t")
	i := len(text)
	for i > 0 && lex.IsWordByte(text[i-1]) {
		i--
	}
	return strings.ToLower(string(lex.LastBytes(text[i:], 32)))
}

// saysNo reports whether a text begins with a word that says that the thing before it did not
// happen, is a setting, or is a count.
func saysNo(text []byte) bool {
	text, _ = cutFold(text, "is ")
	for _, word := range []string{
		"disabled", "enabled", "off", "on", "true", "false", "yes", "no", "not", "never", "none",
		"failed", "used", "count", "total", "possible", "available", "skipped", "may", "can",
	} {
		if rest, ok := cutFold(text, word); ok && (len(rest) == 0 || !lex.IsWordByte(rest[0])) {
			return true
		}
	}
	n := lex.CountDigits(text)
	return n > 0 && (n == len(text) || !lex.IsTextByte(text[n]) && text[n] != ' ' && text[n] != '.')
}
