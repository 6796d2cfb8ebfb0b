package record

import "bytes"

// QuoteLine is a line that the harness writes before certain lines of the pipeline. It says that
// the next line is the pipeline's, whatever that line looks like. The harness writes it before
// each line of the pipeline that looks like a line of the harness, or like QuoteLine itself. So a
// reader who starts at the log's first line always knows who wrote a line:
//
//	[vramsoak] quote
//	[vramsoak] file-end index=12 path=audio/0012.wav status=ok
const QuoteLine = HarnessPrefix + " quote"

// NeedsQuote reports whether a reader could mistake a line of the pipeline for a line of the
// harness. A [QuoteLine] must then precede the line. To be safe, NeedsQuote returns true for some
// lines that the parser would not take for the harness's.
func NeedsQuote(line []byte) bool { return bytes.Contains(line, HarnessPrefixBytes) }

// HarnessPrefixBytes is [HarnessPrefix] as bytes. Do not change its content.
var HarnessPrefixBytes = []byte(HarnessPrefix)

// A Quoted is a line of the pipeline that contains the harness's prefix. It has no effect as a
// line of the harness. Other records in the same line, such as a reading, are read as usual.
type Quoted struct{ Header }
