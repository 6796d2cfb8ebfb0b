package failure

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// batchLines is how many lines before and after a failed allocation may give the batch size.
const batchLines = 3

var (
	// batchSizes matches a batch size: "Batch size: 4", "GAN_BATCH_SIZE=24", "batches of 4".
	batchSizes = lex.Expression(
		`(?i)(\w*)(?:batch[ _-]?size(?: of)?[ =:]{1,3}|batches of )(\d{1,6})\b`)
	// batchEqual matches "batch=256". Only on the line of the failure that is a batch size. On other
	// lines it may be the number of a batch.
	batchEqual = lex.Expression(`(?i)\bbatch=(\d{1,6})\b`)
	// nextSize matches the words before the size with which the program goes on, or should.
	nextSize = lex.Expression(`(?i)(?:retry|suggest|reduc|smaller|lower|halv|decreas|\btry|going on|` +
		`continu|fall|switch|\bus(?:e|ing)\b)[^;]{0,80}$`)
)

// BatchNear returns the batch size that the line of a failed allocation or a line near it gives, or
// 0. The parameter text is the line's own text. The parameter stage is the work that failed,
// such as "GAN config", or "". A line with sizes of several models counts only for such a stage.
func BatchNear(l *scan.Line, text []byte, stage string) int {
	text = lex.FirstBytes(text, 1<<12)
	if m := batchEqual().FindSubmatch(text); m != nil {
		return lex.ParseDigits(m[1])
	}
	if n := batchIn(text, stage); n > 0 {
		return n
	}
	for _, neighbour := range []func(n int) ([]byte, bool){l.Peek, l.Previous} {
		for n := 1; n <= batchLines; n++ {
			text, ok := neighbour(n)
			if !ok {
				break
			}
			if size := batchIn(lex.FirstBytes(text, 512), stage); size > 0 {
				return size
			}
		}
	}
	return 0
}

// batchIn returns the batch size in a text, or 0 if the text has none or several.
func batchIn(text []byte, stage string) int {
	model, _, _ := bytes.Cut([]byte(stage), []byte(" "))
	sizes, plain := map[int]bool{}, 0
	for _, m := range batchSizes().FindAllSubmatchIndex(text, 4) {
		of, n := text[m[2]:m[3]], lex.ParseDigits(text[m[4]:m[5]])
		switch {
		case nextSize().Match(lex.LastBytes(text[:m[0]], 96)):
			continue
		case len(model) > 0 && len(of) > len(model) && bytes.EqualFold(of[:len(model)], model):
			return n
		case len(of) == 0:
			plain = n
		}
		sizes[n] = true
	}
	switch {
	case len(sizes) == 1:
		for n := range sizes {
			return n
		}
	case len(model) > 0: // the others are of other models
		return plain
	}
	return 0
}
