package failure

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A mention is a text that has the words of a failed allocation, such as "CUDA out of memory",
// although no allocation failed. The functions below call these words the failure's words. A
// mention is a count of 0, a list of error codes, the name of a test, a release note, or text
// that a speech model heard:
//
//	CUDA out of memory: 0
//	| CUDA out of memory     | 0     |
//	{"event": "summary", "errors": {"CUDA out of memory": 0}}
//	cudaErrorMemoryAllocation = 2
//	tests/test_oom.py::test_message[CUDA out of memory] PASSED              [ 75%]
//	* Fixed: CUDA out of memory on long files
//	{"text": " CUDA out of memory", "start": 0.0, "end": 2.0}

var (
	// failureWords matches a failure's words from "out of memory" on, or those of a failed
	// allocation, or the name of an error.
	failureWords = lex.Expression(`^(?i:out of (?:GPU |device )?(?:memory|VRAM)|` +
		`(?:\w+ m)?emory allocation (?:on (?:the )?\w+ )?failed|\w+)`)
	// zeroBehind matches the text behind "out of memory" if it is a count of 0, as in "CUDA out
	// of memory: 0". It does not match ": 0 bytes free", because that text reports a failed
	// allocation.
	zeroBehind = lex.Expression(
		`^["'` + "`" + `]?(?: (?:errors?|events?|failures?|count|retries|so far))*` +
			`(?:\s*[:=|]\s*|\s{2,})(?:0|None|null|false|\[\]|\{\})\s*(?:[|,;})\]]|$)`,
	)
	// settingBehind matches the text behind "out of memory" in a setting: {"CUDA out of memory":
	// "retry"}.
	settingBehind = lex.Expression(`^["']\s*:\s*` +
		`["'](?:retry|skip|halve|ignore|raise|fail|warn|abort|cpu)["']`)
	// codeBehind matches the text behind the name of an error in a list of codes: " = 2".
	codeBehind = lex.Expression(`^ ?= ?\d+(?:\s|$)`)
	// codesBefore matches the text before the name of an error in a list of codes: nothing, or
	// other codes.
	codesBefore = lex.Expression(`^\s*(?:[\w ]*codes?: )?(?:\w+ ?= ?\d+ )*$`)
	// testNameBefore matches the text before a failure's words that are part of a pytest name:
	// "tests/test_oom.py::test_message[CUDA ".
	testNameBefore = lex.Expression(`::\w+\[[^\]]*$`)
	// segmentBefore matches the text before a failure's words in a segment of a transcript,
	// {"text": ". segmentTime matches the start time that a segment also has.
	segmentBefore = lex.Expression(`["']text["']\s*: ?["'][^"]*$`)
	segmentTime   = lex.Expression(`["']start["']\s*: ?\d`)
)

// isMention reports whether the failure's words at the offset `at` of a line are a mention. The
// parameter start is the offset of the message that contains these words.
func isMention(text []byte, start, at int) bool {
	before := text[max(0, start-512):start]
	words := failureWords().Find(text[at:])
	rest := text[at+len(words):]
	rest = rest[:min(len(rest), 64)]
	switch {
	case zeroBehind().Match(rest), settingBehind().Match(rest), isAbout(text, start, rest):
		return true
	case segmentBefore().Match(before) && segmentTime().Match(text[:min(len(text), 1024)]):
		return true
	}
	if bytes.IndexByte(words, ' ') < 0 { // the name of an error
		return isHandled(before) || bytes.HasSuffix(before, []byte("case ")) ||
			codeBehind().Match(rest) && codesBefore().Match(source.WithoutLogger(before))
	}
	return isTopic(before)
}

// isAbout reports whether a line is about such failures: it sets, describes, tests or counts them.
// The parameter start is the offset of the failure's words. The parameter rest is the text behind
// these words:
//
//	CUDA out of memory handling: enabled
//	max retries after CUDA out of memory = 3
//	0 CUDA out of memory, 60 ok
//	  --skip-oom            skip files that cause CUDA OOM
func isAbout(text []byte, start int, rest []byte) bool {
	before := text[max(0, start-512):start]
	head := source.WithoutLogger(afterProgress(before))
	switch {
	case aboutBefore().Match(lex.LastBytes(head, 96)), planBefore().Match(lex.LastBytes(head, 96)):
		return true
	case deniedBehind().Match(rest):
		return true
	case settledBehind().Match(rest):
		return !hasErrorLevel(before)
	case nounBehind().Match(rest) && !inUse().Match(rest), stateBehind().Match(rest):
		return true
	case valueBehind().Match(rest):
		return !hasErrorLevel(before)
	case start < 512 && lineOfHelp().Match(source.WithoutLogger(before)):
		return true
	case adviceBehind().Match(rest):
		return bulletBefore().Match(source.WithoutLogger(before))
	case bytes.HasSuffix(bytes.TrimSpace(rest), []byte("?")):
		return question().Match(lex.LastBytes(head, 96))
	}
	return false
}

var (
	// aboutBefore matches the text before a failure's words that a remark is about.
	aboutBefore = lex.Expression(`(?i)(?:^|[^\w-])(?:` +
		`retr(?:y|ies) (?:on|upon|after)|fallback (?:on|for)|against|handles?|catch(?:es)?|` +
		`(?:simulat|emulat|provok|inject|forc|fak)(?:e|es|ing)|fix(?:e[sd])?|` +
		`(?:risk|chance|danger|sign|cause|example)s? of|cause|leads? to|` +
		`(?:often|usually|sometimes|which|that) causes|` +
		`(?:what (?:does|is)|about|troubleshooting|known issues):?|` +
		`recover(?:y|s) from|tests?|testing|` +
		`(?:watch|check|test|look)(?:ing)? for|instead of|rather than|counts?|expect(?:s|ed)?` +
		`) (?:an? |the |any |every |each )?$|` +
		`^(?:0|no) (?:out )?of (?:the )?\d+ ` + workItem + `: $|` +
		`(?:^|[,;(|] ?|: )(?:0|no) (?:` + workItem + ` (?:\w+ ){0,3})?$`)
	// deniedBehind matches the text behind a failure's words if it says that none occurred:
	// "OOM detected: False", "OOM in 0 of 60 files". It does not match "OOM detected: 0 MiB free".
	deniedBehind = lex.Expression(`(?i)^(?: errors?)?(?:` +
		` (?:(?:was|were) )?(?:detected|caught|encountered|occurred|hit|happened)` +
		`["'` + "`" + `]?\s*[:=?]\s*["']?(?:0|no|none|never|false)` +
		`(?:\s*[|,;})\]"'(]|\.?\s*$| (?:of|in|times|so far|yet)\b)|` +
		`(?: (?:detected|caught|encountered|occurred|happened))? (?:in|for|on) ` +
		`(?:0|no|none|zero)(?:/\d| (?:out )?of\b| (?:\w+ )?` + workItem + `?\b))`)
	// settledBehind matches the text behind a failure's words if the failure is expected or mended:
	// "OOM with batch size 8 is expected", "OOM at startup was fixed".
	settledBehind = lex.Expression(`(?i)^(?: errors?)?` +
		`(?: (?:during|while|on|at|in|for|with|when) (?:[^:;,!?(.]|\.\w){1,48}?)? ` +
		`(?:(?:is|are) (?:not )?|(?:was|were|has been|have been) )(?:expected|fixed|handled)\b`)
	// planBefore matches the text before a failure's words in a plan for it: "will fall back to CPU
	// upon ".
	planBefore = lex.Expression(
		`(?i)\b(?:will|would|should|shall|whether|checking if)\b[^:]{0,64}[^\w-](?:up)?on ` +
			`(?:an? |the |any |every |each )?$|` +
			`(?i)\b(?:whether|checking if)\b[^:]{0,64}$`,
	)
	// nounBehind matches a noun behind a failure's words: "CUDA out of memory handler". inUse matches
	// the text behind it if the noun's thing was needed: "CUDA out of memory handler triggered".
	nounBehind = lex.Expression(`(?i)^(?:[ -](?:errors?|events?|exceptions?))?[ -](?:` +
		`handlers?|handling|protection|guards?|polic(?:y|ies)|killer|detection|detector|avoidance|` +
		`prevention|mitigation|counters?|strategy|behaviou?r|simulation|backoff|tests?|checks?|score|` +
		`retries|threshold|hooks?|callbacks?)(?:[^\w-]|$)`)
	inUse = lex.Expression(`(?i)\b(?:fail(?:ed|s)|trigger(?:ed|s)|invoked|activated|fired|called|` +
		`exhausted|exceeded|kick(?:ed|s) in)\b`)
	// stateBehind matches the state of such a thing: "CUDA out of memory recovery is enabled".
	stateBehind = lex.Expression(`(?i)^(?:[ -](?:errors?|events?))?` +
		`[ -](?:recovery|retry|fallback|limit|skipping)(?:` +
		` (?:is |are )?(?:enabled|disabled|installed|active|ready|configured)| (?:is|are) o(?:n|ff)|` +
		` ?[:=] ?(?:enabled|disabled|on|off|true|false|none|passed|\d+))\b`)
	// valueBehind matches a setting that ends a line or a field: "CUDA out of memory: retry".
	valueBehind = lex.Expression(`(?i)^["']?\s*[:=]\s*["']?` +
		`(?:retry|skip|halve|ignore|raise|fail|warn|abort|cpu|` +
		`on|off|true|false|yes|no|enabled|disabled)` +
		`["']?\s*(?:[,;})\]|]|$)`)
	// adviceBehind and bulletBefore match an item of a list of advice: "- CUDA out of memory: lower
	// the batch size".
	adviceBehind = lex.Expression(`(?i)^(?: errors?)?(?::| ->| =>| -) ` +
		`(?:lower|reduce|use|try|set|decrease|free|close|restart|check|make)\b`)
	bulletBefore = lex.Expression(`^\s*(?:[-*•]|\d{1,2}[.)]) ["'` + "`" + `*]{0,2}$`)
	// lineOfHelp matches the beginning of a line of help, of advice, of a diff, of a list of commits
	// or of a test's result.
	lineOfHelp = lex.Expression(`(?i)^\s*(?:-{1,2}[a-z][\w-]*(?:[ =,]|$)|(?:tip|hint|faq|see):? |` +
		`[+-] {2,}|[0-9a-f]{7,40} ` +
		`(?:fix|handle|add|avoid|catch|retry|reduce|prevent|document|test|lower)|` +
		`\+\+|--- (?:PASS|SKIP)|self-?test)`)
	// question matches the beginning of a question.
	question = lex.Expression(`(?i)(?:^|[^\w-])(?:what|how|why|does|did) `)
)

// workItem matches what a pipeline counts.
const workItem = `(?:file|batche|job|task|request|sample|run|worker|step|item)s`

// isHandled reports whether the text before the name of an error says how the program will handle
// such an error:
//
//	INFO - asr - will retry on torch.OutOfMemoryError
func isHandled(before []byte) bool {
	before = bytes.ToLower(before[max(0, len(before)-64):])
	return slices.ContainsFunc(handlingWords, func(words string) bool {
		return bytes.HasSuffix(before, []byte(words))
	})
}

var handlingWords = slices.Concat(retryWords, []string{
	"catch ", "catches ", "catching ", "handle ", "handles ", "handling ",
})

// retryWords precede the name of an error for which the program is prepared.
var retryWords = []string{
	"retry on ", "retries on ", "retrying on ", "retry on: ", "retrying on: ",
	"handler for ", "against ",
}

// isTopic reports whether the text before a failure's words makes them the topic of a remark, as
// "Fixed: " does in this line:
//
//   - Fixed: CUDA out of memory on long files
func isTopic(before []byte) bool {
	low := string(bytes.ToLower(before[max(0, len(before)-64):]))
	if strings.TrimSpace(low[strings.LastIndexAny(low, ":-|]")+1:]) == "on" {
		return true // On CUDA out of memory the batch is halved
	}
	return slices.ContainsFunc(topicWords, func(words string) bool {
		head, ok := strings.CutSuffix(low, words)
		return ok && (head == "" || !lex.IsWordByte(head[len(head)-1]))
	})
}

var topicWords = slices.Concat(retryWords, []string{
	"fix ", "fixes ", "fixed ", "fix: ", "fixes: ", "fixed: ", "known issues: ",
	"watching for ", "watch for ", "troubleshooting ", "risk of ",
	"not a single ", "zero ", "never ", "never got ", "what to do on a ",
})

// isMovedOut reports whether the text before "out of VRAM" says that the program moved something
// out of device memory. Of these two lines, the first one says so, and the second one is a
// failure:
//
//	INFO - offloaded the text encoder out of VRAM
//	Failed to move the model: out of GPU memory
func isMovedOut(before []byte) bool {
	clause := bytes.ToLower(before[max(0, len(before)-64):])
	if i := bytes.LastIndex(clause, []byte(": ")); i >= 0 {
		clause = clause[i:]
	}
	return movedOut().Match(clause)
}

var movedOut = lex.Expression(
	`\b(?:mov|swap|offload|evict|unload|keep|kept|pag|push|copy|copi|flush|` +
		`spill|remov|transfer|tak|free|clear|drop|releas|unless|never)`,
)

// isLogged reports whether a message in quotes, with the size of the request, is the output of a
// program, and not program source. Collectors of logs quote whole lines, and Python quotes the
// message of an error that it prints:
//
//	2026-11-20 02:00:03,"CUDA out of memory. Tried to allocate 20.00 MiB"
//	{'status': 'error', 'error': 'CUDA out of memory. Tried to allocate 20.00 MiB'}
//	Error processing 0030.wav: OutOfMemoryError('CUDA out of memory. Tried to allocate 20.00 MiB')
func isLogged(l *scan.Line, at int) bool {
	before := l.Text[max(0, at-256):at]
	if bytes.HasPrefix(lex.TrimBlanks(l.Text), record.HarnessPrefixBytes) {
		return false // the harness quotes what the pipeline printed
	}
	return !l.Head(at).InSource() || errorRepr().Match(before) && !raised().Match(before)
}

var (
	errorRepr = lex.Expression(`(?:Error|Exception)\(["'](?:[\w.]+: )?$`)
	raised    = lex.Expression(`\braise\s+[\w.]+\(["'](?:[\w.]+: )?$`)
)

// isErrorValue reports whether a message is the error of a result that is printed as a dict:
//
//	{'status': 'error', 'error': 'CUDA out of memory'}
func isErrorValue(l *scan.Line, at int) bool {
	before := l.Text[max(0, at-512):at]
	message := lex.TrimBlanks(l.Text[l.Head(at).Message():])
	return errorKey().Match(before) && len(message) > 0 && message[0] == '{'
}

var errorKey = lex.Expression(`["'](?:error|err|exception|reason)["']: ["'](?:[\w.]+: )?$`)

// IsRemark reports whether a failure's words, such as "out of memory", at an offset of a line are
// part of a comment, a transcript or advice. Call it only for messages without sizes, because a
// message with sizes is always a failure.
func IsRemark(text []byte, at int) bool {
	before := bytes.ToLower(lex.LastBytes(afterProgress(text[max(0, at-512):at]), 120))
	start := lex.TrimBlanks(source.WithoutLogger(text[:at]))
	if IsTranscript(text[:at]) || bytes.Contains(before, []byte(" # ")) ||
		bytes.HasPrefix(start, []byte("#")) || bytes.HasPrefix(start, []byte("//")) {
		return true
	}
	before = lastClause(before)
	for _, word := range []string{
		"if ", "avoid", "prevent", "when ", "case of ", "might ", "may ", "could ", "would ", "can ",
		"# ", "no ", "without ",
	} {
		i := bytes.Index(before, []byte(word))
		if i == 0 || i > 0 && !lex.IsWordByte(before[i-1]) {
			return true
		}
	}
	rest := text[at:min(len(text), at+96)]
	return bytes.Contains(rest, []byte("memory errors")) ||
		bytes.Contains(rest, []byte("memory? ")) || bytes.Contains(rest, []byte("memory is "))
}

// lastClause returns the part of a text behind its last colon, because earlier parts may be about
// something else. In the first line below, "no retries left" is not about the failure. A text
// that says "you" is advice, and lastClause returns all of it:
//
//	ERROR - no retries left: CUDA out of memory
//	To go on when you see this: CUDA out of memory, lower the batch size.
func lastClause(before []byte) []byte {
	if bytes.Contains(before, []byte("you ")) {
		return before
	}
	rest := bytes.TrimSuffix(before, []byte("cuda error: "))
	return before[bytes.LastIndex(rest, []byte(": "))+1:]
}

// IsTranscript reports whether the time stamps of a transcript precede a text. Such a text is
// what a speech model heard, not what a program says:
//
//	[00:00:03.400 --> 00:07:42.600]  so my notebook said CUDA out of memory again
//	[3.40s --> 462.60s] ...
func IsTranscript(before []byte) bool {
	const arrow = " --> "
	i := bytes.Index(before, []byte(arrow))
	return i > 0 && (lex.IsDigit(before[i-1]) || before[i-1] == 's') && i+len(arrow) < len(before) &&
		lex.IsDigit(before[i+len(arrow)])
}

// IsAbout reports whether a line is only about failures: it sets, describes, tests or counts them.
// The parameters start and stop are the offsets of the failure's words, such as "CUDA OOM". See
// [IsRemark] for comments, transcripts and advice.
func IsAbout(text []byte, start, stop int) bool {
	return isTopic(text[max(0, start-512):start]) ||
		isAbout(text, start, lex.FirstBytes(text[stop:], 64))
}
