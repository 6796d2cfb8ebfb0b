package strictyaml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// Value returns a function that sets *to to the value that parse returns for a scalar. If parse
// rejects the scalar, the function adds a mistake that names what was expected.
func Value[T any](r *Reader, to *T, expected string, parse func(s string) (T, bool)) func(
	ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		if s, ok := Scalar(node); ok {
			if v, ok := parse(s); ok {
				*to = v
				return
			}
		}
		r.Fail(node, expected, "")
	}
}

// Text returns a function that reads a text of one line into *to. The text must not be empty. The
// parameter what names the expected value in mistakes, such as "a name". It does so in the methods
// below, too.
func (r *Reader) Text(to *string, what string) func(ast.Node) {
	return Value(r, to, what, func(s string) (string, bool) {
		s = strings.TrimSpace(s)
		return s, s != "" && !strings.ContainsAny(s, "\n\r")
	})
}

// Texts returns a function that reads a list of texts into *to.
func (r *Reader) Texts(to *[]string, what string) func(ast.Node) {
	return func(n ast.Node) {
		for _, item := range r.List(n) {
			var s string
			if r.Text(&s, what)(item); s != "" {
				*to = append(*to, s)
			}
		}
	}
}

// OneOf returns a function that reads one of the given words into *to.
func OneOf[T ~string](r *Reader, to *T, words ...T) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, _ := Scalar(node)
		if !slices.Contains(words, T(s)) {
			all := make([]string, len(words))
			for i, w := range words {
				all[i] = string(w)
			}
			r.Fail(node, "one of "+strings.Join(all, ", ")+Meant(s, all), "")
			return
		}
		*to = T(s)
	}
}

// Flag returns a function that reads true or false into *to.
func (r *Reader) Flag(to *bool) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		b, ok := node.(*ast.BoolNode)
		if !ok {
			r.Fail(node, "true or false", "")
			return
		}
		*to = b.Value
	}
}

// Integer returns a function that reads a whole number of at least `least` into *to.
func (r *Reader) Integer(to *int, least int) func(ast.Node) {
	return Value(r, to, fmt.Sprintf("a whole number of %d or more", least),
		func(s string) (int, bool) {
			i, err := strconv.ParseInt(s, 10, 32)
			return int(i), err == nil && int(i) >= least
		})
}

// Number returns a function that reads a number from least to most into *to.
func (r *Reader) Number(to *float64, least, most float64, what string) func(ast.Node) {
	return Value(r, to, what, func(s string) (float64, bool) {
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil && f >= least && f <= most
	})
}

// Bytes returns a function that reads a number of bytes into *to. The number may have a unit.
func (r *Reader) Bytes(to *int64, what string) func(ast.Node) {
	return Value(r, to, what+" such as 512MiB", func(s string) (int64, bool) {
		size, err := lex.ParseSize(s)
		return size.Bytes, err == nil && size.Bytes >= 0 && float64(size.Bytes) <= MaxBytes
	})
}

// Size is [Reader.Bytes] for a number that must have a unit, see [Reader.Unitless].
func (r *Reader) Size(to *int64, what string) func(ast.Node) {
	return func(n ast.Node) {
		bytes := int64(-1)
		if r.Bytes(&bytes, what)(n); bytes < 0 {
			return
		}
		node := r.Resolve(n)
		if s, _ := Scalar(node); !r.Unitless(node, s, bytes) {
			*to = bytes
		}
	}
}

// MaxBytes is the largest number of bytes that is read. No GPU has so much memory.
const MaxBytes = float64(1 << 50)

// LeastBare is the smallest number of bytes that may be written without a unit. A smaller number
// probably counts MiB.
const LeastBare = record.MiB

// Unitless reports whether a number of bytes lacks a unit that it needs. If so, Unitless adds a
// mistake.
func (r *Reader) Unitless(n ast.Node, s string, bytes int64) bool {
	if _, err := strconv.ParseFloat(s, 64); err != nil || bytes == 0 || bytes >= LeastBare {
		return false
	}
	r.Fail(n, "a size with its unit", fmt.Sprintf("write %sMiB, or %sB if it is so few bytes", s,
		s))
	return true
}

// Seconds returns a function that reads a duration of 0 or more into *to, in seconds: 0.5, 250us,
// 2m.
func (r *Reader) Seconds(to *float64, what string) func(ast.Node) {
	return Value(r, to, what+" such as 0.5 (seconds), 250us or 2m", ParseSeconds)
}

// ParseSeconds returns a duration of 0 or more, in seconds: "0.5", "250us", "2m".
func ParseSeconds(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, false
		}
		f = d.Seconds()
	}
	return f, f >= 0 && f <= 1e9 && !math.IsNaN(f)
}

// Share returns a function that reads a ratio above 0 and up to 1 into *to: 0.95 or 95%.
func Share[T ~float64](r *Reader, to *T) func(ast.Node) {
	return Value(r, to, "a share such as 95% or 0.95, above 0 and up to 1",
		func(s string) (T, bool) {
			share, ok := record.ParseRatio(s)
			return T(share), ok
		})
}

// Scalar returns the text of a string or a number as it is written. The boolean is false for any
// other node.
func Scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode: // behind | or >
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return "", false
}
