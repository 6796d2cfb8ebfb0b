package parser

import (
	"fmt"
	"strings"
)

// fields are the values of one line and the first error in reading them.
type fields struct {
	values map[string]string
	head   Header
	err    *SyntaxError
}

// sizes reads the quantities that are there.
func (f *fields) sizes(r *Reading, quantities ...Quantity) {
	for _, q := range quantities {
		if _, ok := f.values[q.String()]; ok {
			r.Set(q, Exact(f.bytes(q.String())))
		}
	}
}

// count, seconds, bytes and status read a field, absent as zero, and note the first one that cannot be read.

func (f *fields) count(key string) int { return number(f, key, "a whole number", parseCount) }

func (f *fields) seconds(key string) float64 { return number(f, key, "seconds", parseSeconds) }

func (f *fields) bytes(key string) int64 { return number(f, key, "whole bytes", parseBytes) }

// flag is true or false, which is what is absent too.
func (f *fields) flag(key string) bool {
	s, ok := f.values[key]
	if ok && s != "true" && s != "false" {
		f.expected("true or false after "+key+"=", s)
	}
	return s == "true"
}

func number[T int | int64 | float64](f *fields, key, expected string, parse func(string) (T, error)) T {
	s, ok := f.values[key]
	if !ok {
		return 0
	}
	n, err := parse(s)
	if err != nil {
		f.expected(fmt.Sprintf("%s after %s=", expected, key), s)
	}
	return n
}

// expected notes the first error.
func (f *fields) expected(what, found string) {
	if f.err == nil {
		bad := f.bad(what, found)
		f.err = &bad
	}
}

func (f *fields) bad(expected, found string) SyntaxError {
	return SyntaxError{
		Header: f.head, Expected: expected, Found: shorten(strings.ToValidUTF8(found, "�"), 80),
		Advice: "the line was cut, or written by another version",
	}
}
