package scenario

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"vramsoak/parser/lex"
	"vramsoak/parser/strictyaml"
)

// An Expr is a number that may depend on the file: 4, "1.5GiB", "ceil(seconds/30)", "min(32,
// floor(total/4/GiB))". All arithmetic is in float64. The zero Expr is 0.
type Expr struct {
	text    string
	program *vm.Program // nil: the expression is the constant value
	value   float64
	salt    uint64 // gives this expression other random draws than other expressions
	names   []string
	// parameters are the names of the file's parameters, in the order of their numbers in program.
	parameters []string
	at         strictyaml.Place // its position in the file
}

// Vars are the values of an expression's variables for a pass of a stage over a file.
type Vars struct {
	Seconds float64 // seconds: length of the file
	Items   int     // items: of the file in this stage
	Batch   int     // batch: items of this pass
	Pass    int     // pass: from 1, within the stage
	// ItemSeconds is item_seconds: the length of an item of this pass, padded to the longest.
	ItemSeconds float64
	Index       int    // index: of a tensor among its count, from 1; 0 in other expressions
	File        int    // file: from 1
	Files       int    // files: of the run
	Total       int64  // total: of the card, bytes
	Free        int64  // free: on the card at the stage's start, bytes
	Seed        uint64 // seed of random(low, high)
	// Parameters are the values of the file's parameters, see [Scenario.Values].
	Parameters map[string]float64
}

// env holds the variables in the form in which package expr reads them. All are float64, so that
// nothing overflows.
type env struct {
	Seconds     float64                         `expr:"seconds"`
	Items       float64                         `expr:"items"`
	Batch       float64                         `expr:"batch"`
	Pass        float64                         `expr:"pass"`
	ItemSeconds float64                         `expr:"item_seconds"`
	Index       float64                         `expr:"index"`
	File        float64                         `expr:"file"`
	Files       float64                         `expr:"files"`
	Total       float64                         `expr:"total"`
	Free        float64                         `expr:"free"`
	Random      func(low, high float64) float64 `expr:"random"`
	Mod         func(a, b float64) float64      `expr:"mod"`
	// Parameter returns the value of a parameter by its number, see [Expr.parameters].
	Parameter func(number float64) float64 `expr:"value of"`
}

// names are the variables that expressions may use. constants and functions are the other names
// that they may use.
var (
	names = []string{
		"seconds", "items", "batch", "pass", "item_seconds", "index", "file", "files", "total",
		"free",
	}

	constants = map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	functions = []string{"ceil", "floor", "round", "min", "max", "abs"}
)

// The limits of an expression's size. The longest expression of the fixtures has some 20 nodes.
const (
	maxNodes = 200
	maxText  = 1000 // bytes
)

// rounding is the largest rounding error of a whole number: 0.3 / 0.1 is 2.9999999999999996.
const rounding = 1e-9

// golden is 2^64 divided by the golden ratio. Its multiples spread small numbers over 64 bits.
const golden = 0x9e3779b97f4a7c15

// Constant returns a number as an expression.
func Constant(f float64) Expr {
	return Expr{text: strconv.FormatFloat(f, 'g', -1, 64), value: f}
}

// PerSecond returns the expression for f times the length of a file in seconds.
func PerSecond(f float64) Expr { return mustParse(fmt.Sprintf("seconds * %f", f)) }

// An ExprError says at which place a text is not a valid expression, and what was expected there.
type ExprError struct {
	Column   int // byte of the text, from 0
	Expected string
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("at %d: expected %s", e.Column+1,
		e.Expected)
}

// ParseExpr reads a number, a size or an expression. Its error is an [*ExprError].
func ParseExpr(text string) (Expr, error) { return parseExpr(text, nil) }

// parseExpr reads an expression that may also use these parameters.
func parseExpr(text string, parameters []string) (Expr, error) {
	text = strings.TrimSpace(text)
	e := Expr{text: text, parameters: parameters}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		e.value = f
		return e, nil
	}
	if size, err := lex.ParseSize(text); err == nil {
		e.value = float64(size.Bytes)
		return e, nil
	}
	if len(text) > maxText {
		return Expr{}, &ExprError{Expected: fmt.Sprintf("an expression of at most %d bytes",
			maxText)}
	}
	used, named := &usedNames{}, &toFloats{parameters: parameters}
	options := []expr.Option{
		expr.Env(env{}), expr.AsFloat64(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins(),
		expr.Patch(named), expr.Operator("%", "mod"), expr.Patch(used),
	}
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return Expr{}, exprError(text, err, parameters)
	}
	if used.beyond != nil {
		return Expr{}, &ExprError{
			Column:   min(used.beyond.Location().From, len(text)),
			Expected: "arithmetic: numbers, names, + - * / % **, comparisons, a ? b : c",
		}
	}
	e.program = program
	e.names = append(used.names, named.used...)
	if len(e.names) == 0 {
		value, err := e.Eval(Vars{})
		if err != nil {
			return Expr{}, &ExprError{Expected: "a finite number (" + err.Error() + ")"}
		}
		e.program, e.value = nil, value
	}
	return e, nil
}

// exprError converts an error of package expr to an [*ExprError]. It leaves out the text art with
// which package expr shows the position.
func exprError(text string, err error, parameters []string) error {
	found, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &ExprError{Expected: "a number, a size or an expression (" + err.Error() + ")"}
	}
	column := found.Column
	if found.Line != 1 {
		column = 0
	}
	message := found.Message
	if name, unknown := strings.CutPrefix(message, "unknown name "); unknown {
		all := slices.Concat([]string{"KiB", "MiB", "GiB", "random"}, names, functions, parameters)
		message = fmt.Sprintf("unknown name %s; known are %s", name, strings.Join(all, ", "))
		if near := strictyaml.Nearest(name, all); near != "" {
			message = fmt.Sprintf("unknown name %s, did you mean %s?", name, near)
		}
	}
	return &ExprError{
		Column:   min(column, len(text)),
		Expected: "a number, a size or an expression (" + message + ")",
	}
}

// toFloats is a visitor that converts all numbers of an expression to float64, and replaces KiB,
// MiB and GiB by numbers. It replaces each parameter by a call that returns its value, because the
// value may change after the expression was compiled.
type toFloats struct {
	parameters []string
	used       []string // the parameters in the expression
}

func (f *toFloats) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.IdentifierNode:
		if value, known := constants[n.Value]; known {
			ast.Patch(node, &ast.FloatNode{Value: value})
			return
		}
		if i := slices.Index(f.parameters, n.Value); i >= 0 {
			f.used = append(f.used, n.Value)
			ast.Patch(node, &ast.CallNode{
				Callee:    &ast.IdentifierNode{Value: valueOf},
				Arguments: []ast.Node{&ast.FloatNode{Value: float64(i)}},
			})
		}
	}
}

// valueOf is the function in env that returns the value of a parameter. No expression of a file can
// call it, because a name has no space.
const valueOf = "value of"

// usedNames collects the names of the variables in an expression. It also keeps the first part of
// the expression that is not arithmetic, because the language of package expr also has loops, texts
// and lists.
type usedNames struct {
	names  []string
	beyond ast.Node
}

var operators = []string{
	"+", "-", "*", "/", "%", "**", "^", "<", ">", "<=", ">=", "==", "!=",
	"and", "or", "&&", "||", "not", "!",
}

func (u *usedNames) Visit(node *ast.Node) {
	sound := false
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if sound = true; n.Value != "mod" && n.Value != valueOf {
			u.names = append(u.names, n.Value)
		}
	case *ast.FloatNode, *ast.BoolNode, *ast.ConstantNode, *ast.ConditionalNode, *ast.CallNode:
		sound = true
	case *ast.BuiltinNode:
		sound = slices.Contains(functions, n.Name)
	case *ast.UnaryNode:
		sound = slices.Contains(operators, n.Operator)
	case *ast.BinaryNode:
		sound = slices.Contains(operators, n.Operator)
	}
	if !sound && u.beyond == nil {
		u.beyond = *node
	}
}

var machines = sync.Pool{New: func() any { return new(vm.VM) }}

// Eval returns the value of the expression, or an error if the value is not a finite number.
func (e Expr) Eval(v Vars) (float64, error) {
	if e.program == nil {
		return e.value, nil
	}
	var draws uint64
	machine := machines.Get().(*vm.VM)
	defer machines.Put(machine)
	out, err := machine.Run(e.program, env{
		Seconds: v.Seconds, Items: float64(v.Items), Batch: float64(v.Batch), Pass: float64(v.Pass),
		ItemSeconds: v.ItemSeconds, Index: float64(v.Index), File: float64(v.File),
		Files: float64(v.Files), Total: float64(v.Total), Free: float64(v.Free),
		Random: func(low, high float64) float64 {
			draws++
			r := rand.New(rand.NewPCG(v.Seed^e.salt^uint64(max(0, v.Index-1))*golden,
				uint64(v.File)<<40|uint64(v.Pass)<<8|draws))
			return low + (high-low)*r.Float64()
		},
		Mod: math.Mod,
		Parameter: func(number float64) float64 {
			if i := int(number); i >= 0 && i < len(e.parameters) {
				return v.Parameters[e.parameters[i]]
			}
			return math.NaN()
		},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %s", e.text, reason(err))
	}
	f, ok := out.(float64)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s = %v", e.text, out)
	}
	return f, nil
}

// reason returns the message of an error of package expr, without the text art that shows the
// position.
func reason(err error) string {
	if found, ok := errors.AsType[*file.Error](err); ok {
		return found.Message
	}
	return err.Error()
}

// Int returns the value rounded down to a whole number, or an error if the value is negative or
// above 2^40.
func (e Expr) Int(v Vars) (int, error) {
	f, err := e.Eval(v)
	if err != nil {
		return 0, err
	}
	if f < 0 || f > 1<<40 {
		return 0, fmt.Errorf("expected a whole number of 0 or more from %s, found %g", e.text, f)
	}
	return int(f + rounding), nil
}

// Size returns the value as bytes, or an error if it is negative or too large for a size.
func (e Expr) Size(v Vars) (int64, error) {
	f, err := e.Eval(v)
	if err != nil {
		return 0, err
	}
	if f < 0 || f > strictyaml.MaxBytes {
		return 0, fmt.Errorf("expected a size of 0 bytes or more from %s, found %g", e.text, f)
	}
	return int64(math.Round(f)), nil
}

// Constant returns the expression's value if it is a number without variables; otherwise ok is
// false.
func (e Expr) Constant() (value float64, ok bool) { return e.value, e.program == nil }

// Uses reports whether the expression has one of these variables.
func (e Expr) Uses(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(e.names, name)
	})
}

// String returns the expression as it was written.
func (e Expr) String() string { return e.text }

// salted returns the expression with its own random draws: random(1, 9) gives other numbers under
// another name.
func (e Expr) salted(name string) Expr {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash cannot fail
	e.salt = h.Sum64()
	return e
}
