package onnx

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Check returns an error unless the file at path is an ONNX model that ONNX Runtime can load, and
// that the rules accept. It only reads the file. It checks that the file is complete, that ONNX
// Runtime knows its IR version and opset, and that its parts fit together. The rules then check
// what the model's use needs; they call [Checked.Wrong] for each mistake. The error names every
// mistake, and then gives the advice.
func Check(path, advice string, rules func(*Checked)) error {
	// Without O_NONBLOCK, opening a pipe would wait for its writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: expected an ONNX model, found no regular file", path)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s: is empty: expected an ONNX model; copy or export it anew", path)
	}
	if err := CheckFrom(file, info.Size(), advice, rules); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// CheckFrom checks a model of size bytes, as [Check] does.
func CheckFrom(file io.ReaderAt, size int64, advice string, rules func(*Checked)) error {
	m, err := readModel(file, size)
	if bad, ok := errors.AsType[*malformed](err); ok {
		return fmt.Errorf("expected an ONNX model, found what cannot be read as "+
			"one (%w); the file is damaged, cut off or "+
			"of another format: copy or export it anew", bad)
	} else if err != nil {
		return err
	}
	c := &Checked{model: m, mistakes: m.mistakes}
	c.header(runtimeLimits())
	rules(c)
	if err := c.Err(); err != nil {
		return fmt.Errorf("%w\n%s", err, advice)
	}
	return nil
}

// A Checked is a model whose file is checked. It collects the model's mistakes. The zero Checked
// has no file: it checks only the values that it is given.
type Checked struct {
	*model
	mistakes []error
}

// Wrong adds a mistake.
func (c *Checked) Wrong(format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf(format, args...))
}

// Err returns all mistakes as one error, or nil if there are none.
func (c *Checked) Err() error { return errors.Join(c.mistakes...) }

// header checks what every model must have: a graph, and versions that ONNX Runtime accepts.
func (c *Checked) header(most limits) {
	if !c.graph {
		c.Wrong("graph: expected one, found none")
	}
	switch {
	case c.ir < 3:
		c.Wrong("IR version: expected 3 or more, found %d", c.ir)
	case most.ir > 0 && c.ir > most.ir:
		c.Wrong("IR version: expected at most %d, which ONNX Runtime %s knows, found %d", most.ir,
			most.version, c.ir)
	}
	switch {
	case c.opset < 7: // 7 is the oldest opset that ONNX Runtime knows
		c.Wrong("opset: expected 7 or more of the standard operators, found %d", c.opset)
	case most.opset > 0 && c.opset > most.opset:
		c.Wrong("opset: expected at most %d, which ONNX Runtime %s knows, found %d", most.opset,
			most.version, c.opset)
	}
	// Files of IR version 3 list weights as inputs too, but a caller need not give weights.
	c.Inputs = slices.DeleteFunc(slices.Clone(c.Inputs), func(v Value) bool {
		_, ok := c.weights[v.Name]
		return ok
	})
	c.connected()
}

// connected checks that each input of a node, and each output of the model, comes from a node, a
// weight or an input of the model.
func (c *Checked) connected() {
	there := func(name string) bool {
		_, isWeight := c.weights[name]
		_, isOutput := c.producers[name]
		return name == "" || isWeight || isOutput || slices.ContainsFunc(c.Inputs,
			func(v Value) bool { return v.Name == name })
	}
	const most = 5
	missing := map[string]bool{}
	for _, n := range c.producers {
		for _, input := range n.inputs {
			if !there(input) {
				missing[input] = true
			}
		}
	}
	for _, v := range c.Outputs {
		if !there(v.Name) {
			missing[v.Name] = true
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	for _, name := range names[:min(most, len(names))] {
		c.Wrong("graph: expected a node, a weight or an input that gives %q, found none", name)
	}
}

// Number returns a number from the metadata and checks its range. A text such as "16k" is a
// mistake, although sherpa-onnx would read it as 16 with atoi.
func (c *Checked) Number(key string, least, most int) int {
	text, ok := c.metadata[key]
	if !ok || text == "" {
		c.Wrong("metadata %s: expected a number, found none", key)
		return 0
	}
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		c.Wrong("metadata %s: expected a whole number, found %q", key, text)
		return 0
	case v < least || v > most:
		c.Wrong("metadata %s: expected %s, found %d", key, between(least, most), v)
		return 0
	}
	return v
}

func between(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// Word returns a word from the metadata. If oneOf is not empty, the word must be in oneOf.
func (c *Checked) Word(key string, oneOf ...string) string {
	text, ok := c.metadata[key]
	switch {
	case !ok || text == "":
		if !slices.Contains(oneOf, "") {
			c.Wrong("metadata %s: expected a value%s, found none", key, list(oneOf))
		}
	case len(oneOf) > 0 && !slices.Contains(oneOf, text):
		c.Wrong("metadata %s: expected one%s, found %q", key, list(oneOf), text)
		return ""
	}
	return text
}

func list(words []string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	if len(words) == 0 {
		return ""
	}
	return " of " + strings.Join(words, ", ")
}

// Tensor checks that an input or an output has this element type and shape. A dimension that is
// [Free], in the file or in shape, matches any size.
func (c *Checked) Tensor(role string, v Value, element int64, shape ...int64) {
	if v.Element != element {
		c.Wrong("%s %q: expected elements of type %s, found %s", role, v.Name, elementName(element),
			elementName(v.Element))
	}
	if !v.HasShape {
		return
	}
	fits := len(v.Shape) == len(shape)
	for i := 0; fits && i < len(shape); i++ {
		fits = v.Shape[i] == shape[i] || v.Shape[i] == Free || shape[i] == Free
	}
	if !fits {
		c.Wrong("%s %q: expected the shape %s, found %s", role, v.Name, dimensions(shape),
			dimensions(v.Shape))
	}
}

func elementName(element int64) string {
	switch element {
	case 0:
		return "none (no tensor)"
	case Float:
		return "float"
	case Int64:
		return "int64"
	}
	return strconv.FormatInt(element, 10)
}

// dimensions prints a shape for messages, such as [1, *, 80]; * is any size.
func dimensions(shape []int64) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		if words[i] = strconv.FormatInt(n, 10); n == Free {
			words[i] = "*"
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
