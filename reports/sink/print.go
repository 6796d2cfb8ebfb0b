package sink

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Safe is a text that this package made safe to print. It may have several lines.
type Safe string

// Block returns a text of several lines. All lines after the first are indented, so that none of
// them looks like a line of vramsoak.
func Block(s string) Safe {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		line = Line(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    "))
		if i > 0 && line != "" && !strings.HasPrefix(line, "  ") {
			line = "  " + line
		}
		lines[i] = line
	}
	return Safe(strings.Join(lines, "\n"))
}

// Fprintf is [fmt.Fprintf] for people. Each string, error or Stringer among the arguments becomes
// one safe line, as [Line] and [Error] write it. [Safe] text is written unchanged.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	fields := make([]any, len(args))
	for i, arg := range args {
		fields[i] = arg
		switch arg.(type) {
		case nil, fmt.Formatter:
		case error, fmt.Stringer:
			fields[i] = field{arg}
		default:
			if reflect.TypeOf(arg).Kind() == reflect.String {
				fields[i] = field{arg}
			}
		}
	}
	return fmt.Fprintf(w, format, fields...)
}

// Printf is [Fprintf] to the terminal. It ignores errors, because there is nobody to tell.
func (t *Terminal) Printf(format string, args ...any) { _, _ = Fprintf(t, format, args...) }

// A field is an argument that is text.
type field struct{ arg any }

// Format implements [fmt.Formatter]. %q and %x spell the text themselves.
func (f field) Format(s fmt.State, verb rune) {
	value := f.arg
	if verb == 's' || verb == 'v' {
		switch arg := f.arg.(type) {
		case error:
			value = string(Error(arg))
		case Safe:
			value = string(arg)
		default:
			value = Line(fmt.Sprint(arg))
		}
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), value) // fmt reports the error of the writer
}
