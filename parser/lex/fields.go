package lex

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
)

// Fields holds the key=value fields of one line, and the first error that occurred while they
// were read.
type Fields struct {
	Head record.Header
	Err  *record.SyntaxError
	// values are in the order of the line. Lines have a dozen of them at most, so a search is faster
	// than a map.
	values []field
}

type field struct{ key, value string }

// Read adds the fields of a text, as [Logfmt] reads them.
func (f *Fields) Read(text string) error {
	f.values = make([]field, 0, usualFields)
	return Logfmt(text, func(key, value string) {
		f.values = append(f.values, field{key, value})
	})
}

// usualFields is how many fields have room at first.
const usualFields = 8

// Get returns the value of a field, or "" if the line lacks the field. If a line has a field twice,
// the last one counts.
func (f *Fields) Get(key string) string {
	value, _ := f.Lookup(key)
	return value
}

// Lookup returns the value of a field, and whether the line has the field.
func (f *Fields) Lookup(key string) (value string, ok bool) {
	for _, v := range slices.Backward(f.values) {
		if v.key == key {
			return v.value, true
		}
	}
	return "", false
}

// Sizes sets in r each of the given quantities that the line has.
func (f *Fields) Sizes(r *record.Reading, quantities ...record.Quantity) {
	for _, q := range quantities {
		if _, ok := f.Lookup(q.String()); ok {
			r.Set(q, record.Exact(f.Bytes(q.String())))
		}
	}
}

// Count returns a field as a whole number, or 0 if the line lacks the field. If the value is not
// a whole number, Count sets Err. The methods below also set Err if they cannot read a value.
func (f *Fields) Count(key string) int { return number(f, key, "a whole number", ParseCount) }

// Seconds returns a field as a number of seconds, or 0 if the line lacks the field.
func (f *Fields) Seconds(key string) float64 { return number(f, key, "seconds", parseSeconds) }

// Bytes returns a field as a number of bytes, or 0 if the line lacks the field.
func (f *Fields) Bytes(key string) int64 { return number(f, key, "whole bytes", parseBytes) }

// Flag returns a field as a boolean, or false if the line lacks the field.
func (f *Fields) Flag(key string) bool {
	s, ok := f.Lookup(key)
	if ok && s != "true" && s != "false" {
		f.Expected("true or false after "+key+"=", s)
	}
	return s == "true"
}

func number[T int | int64 | float64](f *Fields, key, expected string,
	parse func(string) (T, error),
) T {
	s, ok := f.Lookup(key)
	if !ok {
		return 0
	}
	n, err := parse(s)
	if err != nil {
		f.Expected(fmt.Sprintf("%s after %s=", expected, key), s)
	}
	return n
}

// Expected sets Err to an error that says what was expected and what was found. It does nothing
// if Err is set already.
func (f *Fields) Expected(what, found string) {
	if f.Err == nil {
		bad := f.Bad(what, found)
		f.Err = &bad
	}
}

// Bad returns an error for the line. It says what the line should have, and what it has instead.
func (f *Fields) Bad(expected, found string) record.SyntaxError {
	return record.SyntaxError{
		Header: f.Head, Expected: expected, Found: Shorten(strings.ToValidUTF8(found, "�"), 80),
		Advice: "the line was cut, or written by another version",
	}
}
