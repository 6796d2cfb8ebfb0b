package filetype

import (
	"bytes"
	"errors"
	"io"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// isNotebook reports whether a file that begins with head is a Jupyter notebook. A notebook is a
// JSON object whose first key is one of a notebook's keys, such as "cells". It must also have the
// key "nbformat", "cell_type" or "kernelspec" near its beginning:
//
//	{"cells": [{"cell_type": "code", ...}], "metadata": {...}, "nbformat": 4, "nbformat_minor": 5}
//	{"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [...]}]}
func isNotebook(head []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	text, ok := lex.CutPrefix(text, "{")
	if !ok {
		return false
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	for _, first := range []string{
		`"cells"`, `"metadata"`, `"nbformat"`, `"nbformat_minor"`, `"worksheets"`,
	} {
		rest, ok := lex.CutPrefix(text, first)
		if rest = bytes.TrimLeft(rest, " \t\r\n"); !ok || len(rest) == 0 || rest[0] != ':' {
			continue
		}
		for _, key := range []string{`"nbformat"`, `"cell_type"`, `"kernelspec"`} {
			if bytes.Contains(text, []byte(key)) {
				return true
			}
		}
	}
	return false
}

// A notebook reads the outputs of a Jupyter notebook's cells as lines of a log. An output is text
// that the program printed, the text of a value, or an error. Source, markdown, images and HTML are
// skipped.
//
//	"outputs": [
//	 {
//	  "name": "stdout",
//	  "output_type": "stream",
//	  "text": [
//	   "[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%)\n",
//
// A record's line number is the line of its string in the notebook file.
type notebook struct {
	json  *jsonReader
	name  string
	yield func(record.Record, error) bool

	scanner *scan.Scanner
	out     scan.Batch
	win     source.Window
	// lines holds, for each line of win, its line number in the notebook file. begun is set if
	// win ends with an incomplete line.
	lines []int
	begun bool
	cr    bool // the last byte that was written was '\r'
	// reason is the message of an error. Its records count only if no traceback repeats the
	// message.
	reason     []byte
	reasonLine int
	traced     bool
}

// errStopped is the error with which reading ends when the caller wants no more records.
var errStopped = errors.New("stopped")

func readNotebook(
	r io.Reader,
	name string,
	m *scan.Dialects,
	yield func(record.Record, error) bool,
) {
	n := &notebook{
		json:    newJSONReader(r),
		name:    name,
		yield:   yield,
		scanner: scan.NewScanner(name, m),
		lines:   []int{1},
	}
	n.scanner.Printed = true
	err := n.file()
	if errors.Is(err, errStopped) || n.scan(true) != nil {
		return
	}
	bad, ok := errors.AsType[*jsonError](err)
	switch {
	case ok:
		found := bad.found
		if found == "" {
			found = "the end"
		}
		yield(record.SyntaxError{
			Header: record.Header{
				Pos:     record.Position{Path: name, Line: n.json.line},
				Dialect: "notebook",
			},
			Expected: bad.expected,
			Found:    found,
			Advice: "the notebook is cut off or broken here; the outputs before are read, " +
				"those after are not",
		}, nil)
	case err != nil:
		yield(nil, source.ReadError(name, n.json.line, err))
	}
}

// file reads a notebook, or several notebooks that were appended to each other.
func (n *notebook) file() error {
	if bom, _ := n.json.r.Peek(3); string(bom) == "\ufeff" {
		n.json.drop(3)
	}
	for {
		if n.json.next() != '{' {
			return n.json.mistake("a notebook, an object in braces")
		}
		if err := n.json.object(n.member); err != nil {
			return err
		}
		if n.json.next() == 0 {
			if _, err := n.json.r.Peek(1); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
	}
}

func (n *notebook) member(key string) error {
	if key == "worksheets" { // notebooks up to version 3 have worksheets
		return n.json.array(func() error { return n.json.object(n.sheet) })
	}
	return n.sheet(key)
}

func (n *notebook) sheet(key string) error {
	if key != "cells" {
		return n.json.skip()
	}
	return n.json.array(func() error { return n.json.object(n.cell) })
}

func (n *notebook) cell(key string) error {
	if key != "outputs" {
		return n.json.skip()
	}
	return n.json.array(func() error {
		n.reason, n.traced = n.reason[:0], false
		if err := n.json.object(n.output); err != nil {
			return err
		}
		return n.endReason()
	})
}

// output reads the value of one key of an output. Outputs have these forms:
//
//	{"output_type": "stream", "name": "stdout", "text": [...]}
//	{"output_type": "execute_result", "data": {"text/plain": [...], "text/html": [...]}, ...}
//	{"output_type": "error", "ename": "OutOfMemoryError", "evalue": "CUDA out of memory. ...", "traceback": [...]}
//	{"output_type": "pyout", "text": [...], "html": [...], ...}    (until version 3)
func (n *notebook) output(key string) error {
	switch key {
	case "text":
		return n.text(false)
	case "traceback":
		return n.text(true)
	case "data":
		return n.json.object(func(key string) error {
			if key == "text/plain" {
				return n.text(false)
			}
			return n.json.skip()
		})
	case "evalue":
		if n.json.next() == '"' {
			n.reason, n.reasonLine = n.reason[:0], n.json.line
			return n.json.text(func(b []byte) error {
				n.reason = append(n.reason, b[:min(len(b), source.Margin-len(n.reason))]...)
				return nil
			})
		}
	}
	return n.json.skip()
}

// text reads a string or an array of strings. The strings of an array are the pieces of one text.
// If traceback is set, they are the parts of a traceback.
func (n *notebook) text(traceback bool) error {
	part := func() error {
		if n.json.next() != '"' {
			return n.json.skip()
		}
		line := n.json.line
		err := n.json.text(func(b []byte) error { return n.write(b, line) })
		if err == nil && traceback {
			n.traced = true
			err = n.endLine(line)
		}
		return err
	}
	if n.json.next() != '[' {
		if err := part(); err != nil {
			return err
		}
	} else if err := n.json.array(part); err != nil {
		return err
	}
	return n.endLine(n.json.line)
}

// endReason reads the records in an error's message, unless a traceback has repeated the message.
func (n *notebook) endReason() error {
	if n.traced || len(n.reason) == 0 {
		return nil
	}
	line := max(n.reasonLine, n.lines[len(n.lines)-1])
	if err := n.write(n.reason, line); err != nil {
		return err
	}
	return n.endLine(line)
}

// write appends a piece of an output. The parameter line is the piece's line in the file. write
// replaces '\r' with '\n', so that each state of a progress bar gets a line of its own.
func (n *notebook) write(b []byte, line int) error {
	for len(b) > 0 {
		if n.cr && b[0] == '\n' {
			b, n.cr = b[1:], false
			continue
		}
		i := bytes.IndexAny(b, "\n\r")
		piece := b
		if i >= 0 {
			piece = b[:i]
		}
		if !n.begun {
			n.lines[len(n.lines)-1] = line
		}
		n.begun, n.cr = n.begun || len(piece) > 0, false
		n.win.Buf = append(n.win.Buf, piece...)
		b = b[len(piece):]
		if i >= 0 {
			n.cr = b[0] == '\r'
			b = b[1:]
			n.win.Buf = append(n.win.Buf, '\n')
			n.lines = append(n.lines, line)
			n.begun = false
		}
		if len(n.win.Buf) >= n.win.From+source.Chunk+source.Margin {
			if err := n.scan(false); err != nil {
				return err
			}
		}
	}
	return nil
}

// endLine ends a line that lacks a newline because its output ends.
func (n *notebook) endLine(line int) error {
	n.cr = false
	if !n.begun {
		return nil
	}
	return n.write(source.Newline, line)
}

// scan yields the records of the lines in win. Unless last is set, it keeps the lines near win's
// end for the next call, because more lines that belong to them may follow.
func (n *notebook) scan(last bool) error {
	n.win.To = len(n.win.Buf)
	if !last {
		n.win.To = n.win.Cut(n.win.From, len(n.win.Buf)-source.Margin)
	}
	n.out.Entries = n.out.Entries[:0]
	n.scanner.Scan(n.win, n.out.State, &n.out)
	for i := range n.out.Entries {
		e := &n.out.Entries[i]
		at := e.Pos.Line
		if e.Other != nil {
			at = e.Other.At().Line
		}
		if !n.yield(e.Record(n.lines[at-1]-at), nil) {
			return errStopped
		}
	}
	n.lines = n.lines[:copy(n.lines, n.lines[n.out.Lines:])]
	drop := max(0, n.win.To-source.Margin)
	n.win.Buf = n.win.Buf[:copy(n.win.Buf, n.win.Buf[drop:])]
	n.win.From, n.win.Offset = n.win.To-drop, n.win.Offset+int64(drop)
	return nil
}
