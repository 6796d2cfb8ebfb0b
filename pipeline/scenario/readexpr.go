package scenario

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// expression returns a function that reads a number, a size or an expression into to.
func (r *reader) expression(to *Expr) func(ast.Node) {
	return func(n ast.Node) {
		node := r.Resolve(n)
		if node == nil {
			return
		}
		s, ok := strictyaml.Scalar(node)
		if !ok || strings.TrimSpace(s) == "" {
			r.Fail(node, "a number, a size such as 1.5GiB, or an expression such as "+
				"ceil(seconds/30)", "")
			return
		}
		e, err := parseExpr(s, r.parameters)
		if bad, isExpr := errors.AsType[*ExprError](err); isExpr {
			p := strictyaml.Inside(node)
			if p.Direct {
				p.Column += utf8.RuneCountInString(s[:min(bad.Column, len(s))])
			}
			r.Add(p, bad.Expected, strictyaml.Shown(node), "")
			return
		}
		e.at = strictyaml.Inside(node)
		*to = e
	}
}
