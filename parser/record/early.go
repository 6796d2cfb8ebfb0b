package record

// FailFast is the reason of a run that the harness ended early, because growth was certain and the
// run has --fail-fast.
const FailFast = "fail-fast"

// An EarlyEnd says that growth is certain already, so that the harness ends the run. It names the
// part of the log that was judged, so that a reader can judge it again.
type EarlyEnd struct {
	Header
	Look    int    // number of the look at the log, from 1: see package live
	Files   int    // files that had ended in the part that was judged, of all workers
	Lines   int    // lines of this log in that part
	Check   string // check that failed, such as "leak"
	Subject string // "idle level"
	Found   string // "grows by 4.00 MiB a file, from 104 MiB to 228 MiB, and goes on"
}

// AppendLine appends the record as a line of the harness.
func (r EarlyEnd) AppendLine(b []byte) []byte {
	b = AppendHead(b, r.Header, false, "early-end")
	b = appendNumber(b, "look", int64(r.Look))
	b = appendNumber(b, "files", int64(r.Files))
	b = appendNumber(b, "lines", int64(r.Lines))
	b = AppendField(b, "check", r.Check)
	b = AppendField(b, "subject", r.Subject)
	return AppendField(b, "found", r.Found)
}

// Moved implements [Record].
func (r EarlyEnd) Moved(lines int) Record {
	r.Pos.Line += lines
	return r
}
