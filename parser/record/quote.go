package record

import "bytes"

// QuoteLine is a line of the harness. It says that the next line is the pipeline's, whatever it
// looks like. The harness writes it before each line of the pipeline that could be taken for its
// own, including one that equals QuoteLine. A reader who starts at the log's first line therefore
// knows who wrote each line.
//
//	[vramsoak] quote
//	[vramsoak] file-end index=12 path=audio/0012.wav status=ok
const QuoteLine = HarnessPrefix + " quote"

// NeedsQuote reports whether a line of the pipeline could be taken for one of the harness, so that
// a [QuoteLine] must precede it. It includes more lines than the parser reads as the harness's.
func NeedsQuote(line []byte) bool { return bytes.Contains(line, HarnessPrefixBytes) }

// HarnessPrefixBytes is [HarnessPrefix] as bytes. Do not change it.
var HarnessPrefixBytes = []byte(HarnessPrefix)

// A Quoted is a line with the harness's prefix that the harness did not write. Its words do not
// count as the harness's. Other records in the same line are read as usual.
type Quoted struct{ Header }
