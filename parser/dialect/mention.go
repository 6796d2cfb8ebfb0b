package dialect

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// A mention is text with the words of a failed allocation though none failed: a count of 0, a list
// of error codes, the name of a test, a note on a new version, what a speech model heard:
//
//	CUDA out of memory: 0
//	| CUDA out of memory     | 0     |
//	{"event": "summary", "errors": {"CUDA out of memory": 0}}
//	cudaErrorMemoryAllocation = 2
//	tests/test_oom.py::test_message[CUDA out of memory] PASSED              [ 75%]
//	* Fixed: CUDA out of memory on long files
//	{"text": " CUDA out of memory", "start": 0.0, "end": 2.0}

var (
	// failureWords are the words, or the name of an error.
	failureWords = lex.Expression(`^(?i:out of (?:GPU |device )?(?:memory|VRAM)|\w+)`)
	// noneCounted is behind the words where the count of them is 0. "0 bytes free" is no count.
	noneCounted = lex.Expression(`^["'` + "`" + `]?(?: (?:errors?|events?|failures?|count|retries))?` +
		`(?:\s*[:=|]\s*|\s{2,})(?:0|None|null|false|\[\]|\{\})\s*(?:[|,;})\]]|$)`)
	// isKeyOfWay is behind the words where they are a key, and its value is what to do then.
	isKeyOfWay = lex.Expression(`^["']\s*:\s*` +
		`["'](?:retry|skip|halve|ignore|raise|fail|warn|abort|cpu)["']`)
	// codeOf is behind a name in a list of error codes.
	codeOf = lex.Expression(`^ ?= ?\d+(?:\s|$)`)
	// listedCodes is before it: nothing, or other codes.
	listedCodes = lex.Expression(`^\s*(?:[\w ]*codes?: )?(?:\w+ ?= ?\d+ )*$`)
	// inTestName is before what stands in the name of one of pytest's tests.
	inTestName = lex.Expression(`::\w+\[[^\]]*$`)
	// inSegment is before words in the text of a transcript's segment. It has a segmentTime, too.
	inSegment   = lex.Expression(`["']text["']\s*: ?["'][^"]*$`)
	segmentTime = lex.Expression(`["']start["']\s*: ?\d`)
)

// isMention reports whether the words at an offset of the text are only mentioned. Their message
// begins at start.
func isMention(text []byte, start, at int) bool {
	before := text[max(0, start-512):start]
	words := failureWords().Find(text[at:])
	rest := text[at+len(words):]
	rest = rest[:min(len(rest), 64)]
	switch {
	case noneCounted().Match(rest), isKeyOfWay().Match(rest):
		return true
	case inSegment().Match(before) && segmentTime().Match(text[:min(len(text), 1024)]):
		return true
	}
	if bytes.IndexByte(words, ' ') < 0 { // a name
		return isExpected(before) || codeOf().Match(rest) && listedCodes().Match(before)
	}
	return isSubject(before)
}

// isSubject reports whether the text before the words makes them the subject of a remark.
func isSubject(before []byte) bool {
	low := string(bytes.ToLower(before[max(0, len(before)-64):]))
	if strings.TrimSpace(low[strings.LastIndexAny(low, ":-|]")+1:]) == "on" {
		return true // On CUDA out of memory the batch is halved
	}
	return slices.ContainsFunc(remarks, func(words string) bool {
		head, ok := strings.CutSuffix(low, words)
		return ok && (head == "" || !lex.IsWordByte(head[len(head)-1]))
	})
}

var remarks = slices.Concat(provisions, []string{
	"fix ", "fixes ", "fixed ", "fix: ", "fixes: ", "fixed: ", "known issues: ",
	"watching for ", "watch for ", "troubleshooting ", "risk of ",
	"not a single ", "zero ", "never ", "never got ", "what to do on a ",
})

// isMovedOut reports whether the text before "out of VRAM" says that something was moved out of it:
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
		`spill|remov|transfer|tak|unless|never)`,
)
