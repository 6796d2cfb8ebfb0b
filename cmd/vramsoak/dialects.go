package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"vramsoak/parser"
)

// readOptions say how logs are read.
type readOptions struct {
	trends bool // the report is to have its series over files
	// policy is the file with the user's dialects; "" for the one by which [policyFor] judges.
	policy string
	// policyFlag is the flag that names that file; "" for --policy.
	policyFlag string
	// dialect is the only one that is read; "" for all.
	dialect string
	// streams keeps what cannot be read twice; nil where nothing is.
	streams *spool
}

// headMax is how much of a log is searched for the harness's first line, which keeps the policy that the run was made with.
const headMax = 1 << 20

// open opens a log, and says in which dialects it is to be read. What is no file comes as a [sniffer].
func (o readOptions) open(path string) (_ io.ReadCloser, d dialects, err error) {
	if o.streams.has(path) {
		return o.openKept(path)
	}
	log, err := parser.Open(path)
	if err != nil {
		return nil, dialects{}, err
	}
	head := make([]byte, headMax)
	if log.MayWait() {
		head = firstOf(log, head)
	} else {
		n, _ := io.ReadFull(log, head) // an error comes again when the log is read
		head = head[:n]
	}
	if d, err = o.dialects(head, displayName(path)); err != nil {
		_ = log.Close() // only read
		return nil, dialects{}, err
	}
	keep := o.policy == "" && o.streams.wants(head)
	if path != "-" && !log.MayWait() {
		_ = log.Close() // only read
		again, err := parser.Open(path)
		if err == nil {
			allow(again)
		}
		return again, d, err
	}
	allow(log)
	all := io.MultiReader(bytes.NewReader(head), log)
	if keep {
		all = o.streams.keep(all, path)
	}
	return &sniffer{Log: log, all: all}, d, nil
}

// openKept opens the kept text of a stream.
func (o readOptions) openKept(path string) (_ io.ReadCloser, d dialects, err error) {
	text, err := o.streams.read()
	if err != nil {
		return nil, dialects{}, err
	}
	head := make([]byte, headMax)
	n, _ := io.ReadFull(text, head) // an error comes again when the log is read
	d, err = o.dialects(head[:n], displayName(path))
	return io.NopCloser(io.MultiReader(bytes.NewReader(head[:n]), text)), d, err
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
	user []parser.UserDialect // besides the built-in ones
	set  *parser.Set
	// recorded says that they come from the policy in the log itself.
	recorded bool
}

// dialects are those for a log that begins with head.
func (o readOptions) dialects(head []byte, name string) (d dialects, err error) {
	tl := &parser.Timeline{}
	if bytes.Contains(head, []byte(parser.HarnessPrefix)) {
		own, err := parser.NewSet("vramsoak")
		if err != nil {
			return d, err
		}
		for rec, err := range own.Read(bytes.NewReader(head), name) {
			if err != nil {
				return d, err
			}
			if start, ok := rec.(parser.RunStart); ok {
				tl.Runs = []parser.Run{{Start: start}}
				break
			}
		}
	}
	policy, _, err := policyFor(o.policy, tl)
	if err != nil {
		return d, err
	}
	d.user, d.recorded = policy.Dialects, o.policy == "" && len(tl.Runs) > 0
	d.set, err = parser.NewSet(o.dialect, d.user...)
	return d, err
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
	return "\n\nDialects, for --dialect, besides your own: " + wrapNames(parser.Dialects(), 43) + "."
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
