package parser

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/soaklog"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A Set holds the dialects in which logs are read. A nil set stands for all built-in dialects.
type Set struct {
	set *scan.Dialects
}

// userMax is the largest number of dialects that a user may define.
const userMax = 64

// allDialects returns the built-in dialects.
var allDialects = sync.OnceValue(func() *scan.Dialects {
	return scan.NewDialects(dialect.BuiltIn())
})

// NewSet returns a set of the built-in dialects and the user's dialects. The user's dialects are
// tried first. If force is not empty, the set has only the dialect with this name, and the lines
// that are read in any case: those of the harness, and those that begin with "[pipeline]". The
// error lists every mistake in the user's dialects.
func NewSet(force string, user ...dialect.User) (*Set, error) {
	if force == "" && len(user) == 0 {
		return nil, nil
	}
	var errs []error
	var all []*scan.Dialect
	names := map[string]bool{}
	for _, d := range user {
		for _, m := range append(table.NameMistakes(d.Name, dialect.Names()), d.Mistakes()...) {
			errs = append(errs, fmt.Errorf("dialect %q: %s: expected %s", d.Name, m.Field, m.Expected))
		}
		if names[d.Name] {
			errs = append(
				errs,
				fmt.Errorf("dialect %q: name: expected one that no other dialect has", d.Name),
			)
		}
		names[d.Name] = true
	}
	if len(user) > userMax {
		errs = append(errs, fmt.Errorf("expected at most %d dialects, found %d", userMax, len(user)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, d := range user {
		all = append(all, d.Dialects()...)
	}
	all = append(all, dialect.BuiltIn()...)
	if force != "" {
		named := slices.DeleteFunc(slices.Clone(all),
			func(d *scan.Dialect) bool { return d.Name != force })
		if len(named) == 0 {
			var known []string
			for _, d := range user {
				known = append(known, d.Name)
			}
			return nil, dialect.UnknownError(force, known)
		}
		all = []*scan.Dialect{&soaklog.Harness, &soaklog.Pipeline}
		if !slices.Contains(all, named[0]) {
			all = append(all, named...)
		}
	}
	return &Set{scan.NewDialects(all)}, nil
}

// OwnLines returns the set that reads only the lines of the harness, and those that begin with
// "[pipeline]".
var OwnLines = sync.OnceValue(func() *Set {
	return &Set{scan.NewDialects([]*scan.Dialect{&soaklog.Harness, &soaklog.Pipeline})}
})

func (set *Set) dialects() *scan.Dialects {
	if set == nil {
		return allDialects()
	}
	return set.set
}

// Read is the function [Read] with the dialects of this set.
func (set *Set) Read(r io.Reader, name string) iter.Seq2[record.Record, error] {
	return recordsOf(readLog(r, name, set.dialects()))
}

// Next returns the offset of the next text, at or after the offset `from`, that may belong to a
// record. Such a text is a needle, which is a fixed text that a dialect searches for, or a
// terminal escape, because an escape may split a needle. ok is false if the text has neither. If
// a dialect has no needles, any text may belong to a record, and Next returns `from`.
func (set *Set) Next(text []byte, from int) (at int, ok bool) {
	if at = set.dialects().Next(text, from); at < 0 {
		return len(text), false
	}
	return at, true
}
