package validation

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"vramsoak/parser/strictyaml"
)

// errWritten is the error for YAML in a form that splice cannot edit.
var errWritten = errors.New("expected YAML that can be edited: values, lists and mappings in " +
	"lines or in brackets; write it so, and try again")

// splice returns the file's text after one edit.
func (d *document) splice(e Edit) (string, error) {
	at := d.find(e.path)
	switch {
	case at.depth < len(e.path) && e.value == nil:
		return d.src, nil
	case at.depth < len(e.path):
		return d.add(at.node, added(e.value, e.path[at.depth:]))
	case e.value == nil:
		return d.takeOut(e.path)
	}
	begin, end, err := d.extent(at.node)
	text := flow(e.value)
	if list, ok := at.node.(*ast.SequenceNode); ok && !list.IsFlowStyle {
		text = " " + text // a list in brackets must be indented further than its key
	}
	return d.src[:begin] + text + d.src[end:], err
}

// add returns the file's text with a line added as the first line of a mapping.
func (d *document) add(mapping ast.Node, line string) (string, error) {
	p := strictyaml.Where(mapping)
	at := d.offset(p.Line, p.Column)
	switch n := mapping.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle {
			if !strings.HasPrefix(d.src[at:], "{") {
				return "", errWritten
			}
			if len(n.Values) > 0 {
				line += ", "
			}
			return d.src[:at+1] + line + d.src[at+1:], nil
		}
	case *ast.MappingValueNode:
		if n.IsFlowStyle {
			return "", errWritten
		}
	default:
		return "", errWritten
	}
	if strings.HasPrefix(d.src[at:], "?") {
		return "", errWritten
	}
	return d.src[:at] + line + "\n" + strings.Repeat(" ", p.Column-1) + d.src[at:], nil
}

// takeOut returns the file's text without the list item at a path.
func (d *document) takeOut(path []any) (string, error) {
	last := len(path) - 1
	list, ok := d.resolve(d.find(path[:last]).node).(*ast.SequenceNode)
	i, isIndex := path[last].(int)
	if !ok || !isIndex {
		return "", errWritten
	}
	if len(list.Values) == 1 {
		begin, end, err := d.extent(list)
		text := "[]"
		if !list.IsFlowStyle {
			text = " []" // indented further than its key, as in splice
		}
		return d.src[:begin] + text + d.src[end:], err
	}
	begin, end, err := d.item(list, i)
	if err != nil {
		return "", err
	}
	if i+1 < len(list.Values) {
		end, _, err = d.item(list, i+1)
	} else {
		_, begin, err = d.item(list, i-1)
	}
	return d.src[:begin] + d.src[end:], err
}

// item returns the offsets at which item i of a list begins, with its dash, and ends.
func (d *document) item(list *ast.SequenceNode, i int) (begin, end int, err error) {
	if list.IsFlowStyle {
		return d.extent(list.Values[i])
	}
	if len(list.Entries) != len(list.Values) {
		return 0, 0, errWritten
	}
	p := list.Entries[i].Start.Position
	begin = d.offset(p.Line, p.Column)
	if !strings.HasPrefix(d.src[begin:], "-") {
		return 0, 0, errWritten
	}
	return begin, d.blockEnd(begin, false), nil
}

// extent returns the offsets at which a value begins and ends in the text.
func (d *document) extent(n ast.Node) (begin, end int, err error) {
	p := strictyaml.Where(n)
	begin = d.offset(p.Line, p.Column)
	end, err = d.end(n, begin)
	return begin, end, err
}

// end returns the offset at which a value ends. The value begins at offset begin.
func (d *document) end(n ast.Node, begin int) (int, error) {
	rest := d.src[begin:]
	switch n := n.(type) {
	case *ast.AnchorNode:
		_, end, err := d.extent(n.Value)
		return end, err
	case *ast.AliasNode:
		name := "*" + n.Value.GetToken().Value
		if strings.HasPrefix(rest, name) {
			return begin + len(name), nil
		}
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			return d.closing(n.End, "]")
		}
		return d.blockEnd(begin, true), nil
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return d.closing(n.End, "}")
		}
	case *ast.MappingValueNode: // a mapping in lines is never replaced
	case *ast.LiteralNode:
		return d.literalEnd(begin), nil
	default:
		if size := scalar(rest, n.GetToken().Value); size > 0 {
			return begin + size, nil
		}
	}
	return 0, errWritten
}

// closing returns the offset behind a closing bracket. t is the bracket's token.
func (d *document) closing(t *token.Token, bracket string) (int, error) {
	if t == nil {
		return 0, errWritten
	}
	at := d.offset(t.Position.Line, t.Position.Column)
	if !strings.HasPrefix(d.src[at:], bracket) {
		return 0, fmt.Errorf("line %d: %w", t.Position.Line, errWritten)
	}
	return at + 1, nil
}

// scalar returns the length in bytes of the scalar at the start of a text, including its quotes. It
// returns 0 if a closing quote is missing, or if a scalar without quotes does not have the given
// value.
func scalar(text, value string) int {
	switch {
	case strings.HasPrefix(text, `"`):
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return 0
	case strings.HasPrefix(text, "'"):
		for i := 1; i < len(text); i++ {
			if text[i] != '\'' {
				continue
			}
			if i++; i == len(text) || text[i] != '\'' {
				return i
			}
		}
		return 0
	}
	size := 0 // a plain scalar may go over several lines
	for part := range strings.FieldsSeq(value) {
		size += len(text[size:]) - len(strings.TrimLeft(text[size:], " \n"))
		if !strings.HasPrefix(text[size:], part) {
			return 0
		}
		size += len(part)
	}
	return size
}

// blockEnd returns the offset at which a list item ends: the end of the last line that is indented
// further than the item's dash, which is at begin. If whole is true, it returns the end of the
// whole list. A comment belongs to the line after it.
func (d *document) blockEnd(begin int, whole bool) int {
	column := begin - 1 - strings.LastIndexByte(d.src[:begin], '\n')
	return d.linesEnd(begin, func(indent int, text string) belongs {
		switch {
		case strings.HasPrefix(text, "#"):
			return perhaps
		case indent > column, whole && indent == column && strings.HasPrefix(text, "-"):
			return yes
		}
		return no
	})
}

// literalEnd returns the offset at which a text that begins with | or > ends.
func (d *document) literalEnd(begin int) int {
	first := 0
	return d.linesEnd(begin, func(indent int, _ string) belongs {
		if first = cmp.Or(first, indent); indent >= first && first > 0 {
			return yes
		}
		return no
	})
}

// belongs says whether a line belongs to a block of lines. perhaps means that the line belongs to
// the block if a later line does.
type belongs int

const (
	no belongs = iota
	perhaps
	yes
)

// linesEnd returns the end of the block of lines that begins at offset begin. judge decides for
// each later line whether the line belongs to the block.
func (d *document) linesEnd(begin int, judge func(indent int, text string) belongs) int {
	lineEnd := func(from int) int {
		if i := strings.IndexByte(d.src[from:], '\n'); i >= 0 {
			return from + i
		}
		return len(d.src)
	}
	end := lineEnd(begin)
	for at := end; at < len(d.src); {
		next := lineEnd(at + 1)
		line := d.src[at+1 : next]
		if text := strings.TrimLeft(line, " "); strings.TrimSpace(text) != "" {
			switch judge(len(line)-len(text), text) {
			case no:
				return end
			case yes:
				end = next
			case perhaps:
			}
		}
		at = next
	}
	return end
}

// offset returns the byte offset of a line and a column in the text, both counted from 1.
func (d *document) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(d.src[at:], '\n')
		if i < 0 {
			return len(d.src)
		}
		at += i + 1
	}
	for ; column > 1 && at < len(d.src); column-- {
		_, size := utf8.DecodeRuneInString(d.src[at:])
		at += size
	}
	return at
}
