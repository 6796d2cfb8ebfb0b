package strictyaml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser"
)

// Text reads a text that is not empty.
func (r *Reader) Text(to *string, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, ok := Scalar(node)
		if !ok || strings.TrimSpace(s) == "" || strings.ContainsAny(strings.TrimSpace(s), "\n\r") {
			r.Fail(node, what, "")
			return
		}
		*to = strings.TrimSpace(s)
	}
}

// Texts reads a list of texts.
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

// OneOf reads one of some words.
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

// Flag reads true or false.
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

// Integer reads a whole number.
func (r *Reader) Integer(to *int, least int) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, ok := Scalar(node)
		i, err := strconv.ParseInt(s, 10, 32)
		if !ok || err != nil || int(i) < least {
			r.Fail(node, fmt.Sprintf("a whole number of %d or more", least), "")
			return
		}
		*to = int(i)
	}
}

// Size reads bytes with their unit.
func (r *Reader) Size(to *int64, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, _ := Scalar(node)
		size, err := parser.ParseSize(s)
		if err != nil || size.Bytes < 0 || float64(size.Bytes) > MaxBytes {
			r.Fail(node, what+" such as 512MiB", "")
			return
		}
		if r.Unitless(node, s, size.Bytes) {
			return
		}
		*to = size.Bytes
	}
}

// MaxBytes is more than any card has.
const MaxBytes = float64(1 << 50)

// LeastBare is the least number of bytes that may be written without a unit. Less is likely a number of MiB.
const LeastBare = parser.MiB

// Unitless says, as a mistake, that a number of bytes lacks its unit.
func (r *Reader) Unitless(n ast.Node, s string, bytes int64) bool {
	if _, err := strconv.ParseFloat(s, 64); err != nil || bytes == 0 || bytes >= LeastBare {
		return false
	}
	r.Fail(n, "a size with its unit", fmt.Sprintf("write %sMiB, or %sB if it is so few bytes", s, s))
	return true
}

// Seconds reads a time of 0 or more: 0.5, 250us, 2m.
func (r *Reader) Seconds(to *float64, what string) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, _ := Scalar(node)
		f, ok := ParseSeconds(s)
		if !ok {
			r.Fail(node, what+" such as 0.5 (seconds), 250us or 2m", "")
			return
		}
		*to = f
	}
}

// ParseSeconds reads a time of 0 or more, in seconds: "0.5", "250us", "2m".
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

// Share reads a ratio above 0 and up to 1: 0.75 or 75%.
func (r *Reader) Share(to *float64) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, _ := Scalar(node)
		digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
		f, err := strconv.ParseFloat(digits, 64)
		if percent {
			f /= 100
		}
		if err != nil || !(f > 0 && f <= 1) {
			r.Fail(node, "a share such as 0.75 or 75%, above 0 and up to 1", "")
			return
		}
		*to = f
	}
}

// Scalar is a scalar as it is written.
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
