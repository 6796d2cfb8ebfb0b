package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
)

// A mutant is a file with one small change: the bytes from `from` to `to` are replaced by text.
type mutant struct {
	file     string
	source   []byte
	from, to int
	text     string
	what     string // such as "< to <="
	line     int
	nth      int // 1 for the first mutant of this line with this change, 2 for the second, and so on
}

// code returns the line of code before the change, without its indentation and comment.
func (m mutant) code() string {
	line, _, _ := strings.Cut(strings.Split(string(m.source), "\n")[m.line-1], " // ")
	return strings.TrimSpace(line)
}

// key returns the mutant's name in the list of equivalent mutants. It does not change when lines of
// the file move.
func (m mutant) key() string {
	what := m.what
	if m.nth > 1 {
		what += fmt.Sprintf(" #%d", m.nth)
	}
	return m.file + " | " + what + " | " + m.code()
}

// String returns the mutant's key and its line number.
func (m mutant) String() string { return fmt.Sprintf("%s | line %d", m.key(), m.line) }

func (m mutant) broken() []byte {
	return append(append(append([]byte{}, m.source[:m.from]...), m.text...), m.source[m.to:]...)
}

// These tables hold the replacements of operators. boundary moves the bound of a comparison by one,
// negated inverts a comparison, and arithmetic uses another operation.
var (
	boundary = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	negated = map[token.Token]token.Token{
		token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD,
		token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.INC: token.DEC, token.DEC: token.INC,
	}
)

// mutate returns the mutants of a file. Some of them do not compile, such as the difference of two
// strings.
func mutate(file string) ([]mutant, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	text := func(n ast.Node) string { return string(source[at(n.Pos()):at(n.End())]) }
	var all []mutant
	same := map[string]int{}
	add := func(from, to token.Pos, text, what string) {
		m := mutant{
			file: file, source: source, from: at(from), to: at(to), text: text, what: what,
			line: set.Position(from).Line,
		}
		place := fmt.Sprint(what, m.line)
		same[place]++
		m.nth = same[place]
		all = append(all, m)
	}
	swap := func(p token.Pos, old token.Token, tables ...map[token.Token]token.Token) {
		for _, table := range tables {
			if other, ok := table[old]; ok {
				from, to := old.String(), other.String()
				add(p, p+token.Pos(len(from)), to, from+" to "+to)
			}
		}
	}
	// step is the post statement of a loop. It stays, because without it most loops never end.
	var step ast.Stmt
	ast.Inspect(parsed, func(n ast.Node) bool {
		if n != nil && n == ast.Node(step) {
			return false
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			step = n.Post
		case *ast.FuncDecl:
			if n.Body != nil {
				add(n.Body.Lbrace+1, n.Body.Lbrace+1, early(n.Type, text), "return at once")
			}
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op, boundary, negated, arithmetic)
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok, arithmetic)
			add(n.Pos(), n.End(), "", "removed")
		case *ast.AssignStmt:
			swap(n.TokPos, n.Tok, arithmetic)
			if n.Tok == token.ASSIGN { // the right side stays, so that its variables are used
				for _, left := range n.Lhs {
					add(left.Pos(), left.End(), "_", "removed")
				}
			} else if n.Tok != token.DEFINE {
				add(n.Pos(), n.End(), "_ = "+text(n.Rhs[0]), "removed")
			}
		case *ast.ExprStmt, *ast.BranchStmt:
			add(n.Pos(), n.End(), "", "removed")
		case *ast.IfStmt:
			add(n.Cond.Pos(), n.Cond.End(), "false && ("+text(n.Cond)+")", "if never")
			add(n.Cond.Pos(), n.Cond.End(), "true || ("+text(n.Cond)+")", "if always")
		case *ast.Ident:
			switch n.Name {
			case "true":
				add(n.Pos(), n.End(), "false", "true to false")
			case "false":
				add(n.Pos(), n.End(), "true", "false to true")
			}
		}
		return true
	})
	return all, nil
}

// early returns the text of a return statement with zero values, to put at the beginning of a
// function. The code after it still compiles.
func early(f *ast.FuncType, text func(ast.Node) string) string {
	var zeros []string
	if f.Results != nil {
		for _, field := range f.Results.List {
			for range max(1, len(field.Names)) {
				zeros = append(zeros, "*new("+text(field.Type)+")")
			}
		}
	}
	return " if true { return " + strings.Join(zeros, ", ") + " };"
}
