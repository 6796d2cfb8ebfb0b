package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
	"vramsoak/parser/timeline"
)

// readOptions say how logs are read.
type readOptions struct {
	// trends and measures ask for these parts of a report: see [check.Judge].
	trends, measures bool
	// policy is the file with the user's dialects; "" for the one by which [policyFor] judges.
	policy string
	// policyFlag is the flag that names that file; "" for --policy.
	policyFlag string
	// dialect is the only one that is read; "" for all.
	dialect string
	// first is the first log, where it was opened to find the policy; else nil.
	first *peeked
}

// headMax is how much of a log is searched for the harness's first line, which keeps the policy that the run was made with.
const headMax = 1 << 20

// open opens a log and returns the dialects to read it in. A stream comes as a [sniffer].
func (o readOptions) open(path string) (_ io.ReadCloser, d dialects, err error) {
	p := o.first.take(path)
	if p == nil {
		if p, err = peek(path, false); err != nil {
			return nil, dialects{}, err
		}
	}
	if d, err = o.dialects(p.head, displayName(path)); err != nil {
		_ = p.log.Close() // only read
		return nil, dialects{}, err
	}
	if path != "-" && !p.log.MayWait() {
		_ = p.log.Close() // only read
		again, err := parser.Open(path)
		if err == nil {
			allow(again)
		}
		return again, d, err
	}
	allow(p.log)
	return &sniffer{Log: p.log, all: io.MultiReader(bytes.NewReader(p.head), p.log)}, d, nil
}

// A peeked log is open, and its first bytes have been read.
type peeked struct {
	path string
	log  *source.Log // nil once the log was taken
	head []byte      // at most headMax bytes
}

// peek opens a log and reads its head. Of a stream it reads only what has come already, unless whole
// is set: then it waits for as much as of a file.
func peek(path string, whole bool) (*peeked, error) {
	log, err := parser.Open(path)
	if err != nil {
		return nil, err
	}
	p := &peeked{path: path, log: log, head: make([]byte, headMax)}
	if log.MayWait() && !whole {
		p.head = firstOf(log, p.head)
	} else {
		n, _ := io.ReadFull(log, p.head) // an error comes again when the log is read
		p.head = p.head[:n]
	}
	return p, nil
}

// take returns a copy of p for the caller to read and close, or nil if p is not of this path or was taken already.
func (p *peeked) take(path string) *peeked {
	if p == nil || p.log == nil || p.path != path {
		return nil
	}
	taken := *p
	p.log = nil
	return &taken
}

// close closes a log that nobody took.
func (p *peeked) close() {
	if p.log != nil {
		_ = p.log.Close() // only read
	}
}

// firstOf is what comes first of what a program may be writing yet: a line, be its end a progress bar's, and what comes with
// it, as far as there is room.
func firstOf(r io.Reader, buf []byte) (head []byte) {
	for len(head) < len(buf) && !bytes.ContainsAny(head, "\r\n") {
		n, err := r.Read(buf[len(head):])
		if head = buf[:len(head)+n]; err != nil {
			break // it comes again when the log is read
		}
	}
	return head
}

// headOf returns how a file begins, as far as it is there. Of a stream it returns nothing and leaves it untouched: the writer
// of a FIFO gets SIGPIPE when it is closed again.
func headOf(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()                  // only read
	head, _ := io.ReadAll(io.LimitReader(file, headMax)) // an error comes again when the log is read
	return head, nil
}

// dialects are those in which a log is read.
type dialects struct {
	user []dialect.User // besides the built-in ones
	set  *parser.Set
	// recorded says that they come from the policy in the log itself.
	recorded bool
}

// dialects are those for a log that begins with head.
func (o readOptions) dialects(head []byte, name string) (d dialects, err error) {
	tl, err := runIn(head, name)
	if err != nil {
		return d, err
	}
	policy, _, err := policyFor(o.policy, tl)
	if err != nil {
		return d, err
	}
	d.user, d.recorded = policy.Dialects, o.policy == "" && len(tl.Runs) > 0
	d.set, err = parser.NewSet(o.dialect, d.user...)
	return d, err
}

// runIn returns a timeline with the first run that a log's head begins, or without a run.
func runIn(head []byte, name string) (*timeline.Timeline, error) {
	tl := &timeline.Timeline{}
	if !bytes.Contains(head, []byte(record.HarnessPrefix)) {
		return tl, nil
	}
	own, err := parser.NewSet("vramsoak")
	if err != nil {
		return nil, err
	}
	for rec, err := range own.Read(bytes.NewReader(head), name) {
		if err != nil {
			return nil, err
		}
		if start, ok := rec.(record.RunStart); ok {
			tl.Runs = []timeline.Run{{Start: start}}
			break
		}
	}
	return tl, nil
}

// displayName is what positions call a log.
func displayName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// dialectHelp is the end of the help of a command that reads logs.
func dialectHelp() string {
	return "\n\nDialects, for --dialect, besides your own: " + wrapNames(dialect.Names(), 43) + "."
}

// wrapNames is a list of names in lines of 116 columns, the first of which begins at a column.
func wrapNames(names []string, column int) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case column+len(name)+3 > 116:
			b.WriteString(",\n")
			column = 0
		default:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(name)
		column += len(name)
	}
	return b.String()
}

const dialectUsage = "read the log in the dialect of this `name` only; see the help"

// wanted says what was looked for in a log.
func (o readOptions) wanted(d dialects) string {
	if o.dialect != "" {
		return "expected lines of the dialect " + o.dialect
	}
	where := defaultPolicy
	switch {
	case o.policy != "":
		where = o.policy
	case d.recorded:
		where = "a file for " + cmp.Or(o.policyFlag, "--policy")
	}
	own := "describe lines of your own under dialects: in " + where +
		"; vramsoak parse --dialect-file shows what they match"
	if len(d.user) > 0 {
		names := make([]string, len(d.user))
		for i, u := range d.user {
			names[i] = u.Name
		}
		own = "your own dialects were tried too (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf("expected lines such as %q, or of another dialect (vramsoak parse --help lists them); %s",
		"[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | ...", own)
}
