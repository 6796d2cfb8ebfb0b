package record

import "bytes"

// QuoteLine is the line that the harness writes before a line of the pipeline that could be taken for
// the harness's own: the next line is the pipeline's, whatever it says. A pipeline that prints this
// line gets a quote before it too. So a reader who starts at the log's first line knows whose each
// line is, without a secret.
//
//	[vramsoak] quote
//	[vramsoak] file-end index=12 path=audio/0012.wav status=ok
const QuoteLine = HarnessPrefix + " quote"

// MayBeOwn reports whether a line of the pipeline could be taken for one of the harness, by this
// program or another: it is to be quoted. It says so of more lines than [parser.Read] takes for the harness's.
func NeedsQuote(line []byte) bool { return bytes.Contains(line, HarnessPrefixBytes) }

var HarnessPrefixBytes = []byte(HarnessPrefix)

// A Quoted is a line in the harness's name that the harness did not write. As the harness's word it says
// nothing; what else the pipeline says in it is read as anywhere.
type Quoted struct{ Header }
