package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/parser/strictyaml"
)

// A choice is the value of a flag that has a fixed set of values. Its method check refuses others,
// see [checkFlags].
type choice struct {
	value *string
	unset string // the default
	of    []string
}

// choiceVar defines a flag whose value is one of the given values, or the default, which may be "".
func choiceVar(f *pflag.FlagSet, p *string, name, value string, of []string, usage string) {
	*p = value
	f.Var(&choice{value: p, unset: value, of: of}, name, usage)
}

// Set implements [pflag.Value].
func (c *choice) Set(s string) error { *c.value = s; return nil }

// String implements [pflag.Value].
func (c *choice) String() string { return stringOf(c.value) }

// Type implements [pflag.Value].
func (c *choice) Type() string { return "choice" }

// completion returns what the shell offers for the flag.
func (c *choice) completion() cobra.CompletionFunc { return fixed(c.of) }

func (c *choice) check() error {
	if s := *c.value; s != c.unset && !slices.Contains(c.of, s) {
		return fmt.Errorf("expected %s, found %q%s", alternatives(c.of), s,
			strictyaml.Meant(s, c.of))
	}
	return nil
}

// A whole is the value of a flag that takes a whole number from `least` on.
type whole struct {
	value *int
	least int
	text  *string // what the user gave, if it is no whole number
}

// wholeVar defines a flag that takes a whole number from `least` on. The default may be less.
func wholeVar(f *pflag.FlagSet, p *int, name string, value, least int, usage string) {
	*p = value
	f.Var(&whole{value: p, least: least}, name, usage)
}

// Set implements [pflag.Value]. The method check refuses wrong values. An error of Set would hide
// those of the flags after it.
func (n *whole) Set(s string) error {
	n.text = nil
	v, err := strconv.Atoi(s)
	if err != nil {
		n.text = &s
	} else {
		*n.value = v
	}
	return nil
}

// String implements [pflag.Value].
func (n *whole) String() string {
	switch {
	case n.text != nil:
		return *n.text
	case n.value == nil: // pflag asks a zero value for its default
		return "0"
	}
	return strconv.Itoa(*n.value)
}

// Type implements [pflag.Value].
func (n *whole) Type() string { return "int" }

func (n *whole) check() error {
	if n.text != nil || *n.value < n.least {
		return fmt.Errorf("expected a whole number from %d on, such as %d, found %q", n.least,
			max(4, n.least), n)
	}
	return nil
}

// A span is the value of a flag that is a time of 0 or more.
type span struct {
	value *time.Duration
	text  *string // what the user gave, if it is no time
}

// spanVar defines a flag whose value is a time of 0 or more.
func spanVar(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.Var(&span{value: p}, name, usage)
}

// Set implements [pflag.Value]. The method check refuses wrong values, see [whole.Set].
func (d *span) Set(s string) error {
	d.text = nil
	v, err := time.ParseDuration(s)
	if err != nil {
		d.text = &s
	} else {
		*d.value = v
	}
	return nil
}

// String implements [pflag.Value].
func (d *span) String() string {
	switch {
	case d.text != nil:
		return *d.text
	case d.value == nil || *d.value == 0: // pflag asks a zero value for its default
		return "0"
	}
	return d.value.String()
}

// Type implements [pflag.Value].
func (d *span) Type() string { return "duration" }

func (d *span) check() error {
	if d.text != nil || *d.value < 0 {
		return fmt.Errorf("expected a time, such as 30s, 10m or 8h, found %q", d)
	}
	return nil
}
