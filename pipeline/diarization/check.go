package diarization

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what a model is for.
type Kind int

// The kinds of models.
const (
	Segmentation Kind = iota // tells the speakers in a window apart
	Embedding                // turns a voice into a vector
)

// Check says whether sherpa-onnx can use the model at path, by the file alone: whether it is whole,
// of an IR and an opset that ONNX Runtime knows, and whether its metadata, its inputs and outputs
// are what sherpa-onnx relies on without looking. The error names every mistake, with what was
// expected and what to do.
//
// What sherpa-onnx's export scripts write passes: scripts/pyannote/segmentation, wespeaker,
// 3dspeaker and nemo/speaker-verification in github.com/k2-fsa/sherpa-onnx.
func Check(path string, kind Kind) error {
	_, err := inspect(path, kind, runtimeLimits())
	return err
}

// properties are those of a checked model that matter to its use.
type properties struct {
	// Samples: what the segmentation model looks at, and from one frame to the next.
	window, frame int
	speakers      int // that it tells apart in a window
	classes       int // of a frame
	dim           int // of an embedding

	input  [3]int // a shape that the model takes
	length int    // the value of its second input; 0 where it has none
	output int    // which output is used
}

// limits are what an ONNX Runtime takes at most.
type limits struct {
	version   string
	ir, opset int64 // 0 where no limit is known
}

// limitsOf a version of ONNX Runtime, by the ONNX release that it implements (docs/Versioning.md in
// github.com/microsoft/onnxruntime and in github.com/onnx/onnx). Of releases that are newer than
// this table all is left to themselves; of older ones nothing was tried.
func limitsOf(version string) limits {
	minor := 0
	if major, rest, ok := strings.Cut(version, "."); ok && major == "1" {
		text, _, _ := strings.Cut(rest, ".")
		minor, _ = strconv.Atoi(text)
	}
	switch {
	case minor == 0 || minor > 20:
		return limits{version: version}
	case minor > 17:
		return limits{version, 10, 21}
	}
	return limits{version, 9, 20}
}

// scripts are where models of a kind come from.
var scripts = map[Kind]string{
	Segmentation: "scripts/pyannote/segmentation",
	Embedding:    "scripts/wespeaker, scripts/3dspeaker or scripts/nemo/speaker-verification",
}

// inspect checks the file at path.
func inspect(path string, kind Kind, most limits) (properties, error) {
	file, err := os.Open(path)
	if err != nil {
		return properties{}, err
	}
	defer func() { _ = file.Close() }() // read only
	info, err := file.Stat()
	if err != nil {
		return properties{}, err
	}
	if !info.Mode().IsRegular() {
		return properties{}, fmt.Errorf("%s: expected an ONNX model, found no regular file", path)
	}
	if info.Size() == 0 {
		return properties{},
			fmt.Errorf("%s: is empty: expected an ONNX model; copy or export it anew", path)
	}
	p, err := judge(file, info.Size(), kind, most)
	if err != nil {
		return properties{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// judge checks a file of size bytes.
func judge(file io.ReaderAt, size int64, kind Kind, most limits) (properties, error) {
	m, err := readModel(file, size)
	if bad, ok := errors.AsType[*malformed](err); ok {
		return properties{}, fmt.Errorf("expected an ONNX model, found what cannot be read as "+
			"one (%w); the file is damaged, cut off or "+
			"of another format: copy or export it anew", bad)
	} else if err != nil {
		return properties{}, err
	}
	c := &check{model: m, mistakes: m.mistakes}
	c.header(most)
	var p properties
	switch kind {
	case Segmentation:
		p = c.segmentation()
	case Embedding:
		p = c.embedding()
	}
	if err := errors.Join(c.mistakes...); err != nil {
		return properties{},
			fmt.Errorf("%w\nexport the model with %s of github.com/k2-fsa/sherpa-onnx", err,
				scripts[kind])
	}
	return p, nil
}

// check collects a model's mistakes.
type check struct {
	*model
	mistakes []error
}

func (c *check) wrong(format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf(format, args...))
}

// header checks what holds for any model.
func (c *check) header(most limits) {
	if !c.graph {
		c.wrong("graph: expected one, found none")
	}
	switch {
	case c.ir < 3:
		c.wrong("IR version: expected 3 or more, found %d", c.ir)
	case most.ir > 0 && c.ir > most.ir:
		c.wrong("IR version: expected at most %d, which ONNX Runtime %s knows, found %d", most.ir,
			most.version, c.ir)
	}
	switch {
	case c.opset < 7: // ONNX Runtime's oldest
		c.wrong("opset: expected 7 or more of the standard operators, found %d", c.opset)
	case most.opset > 0 && c.opset > most.opset:
		c.wrong("opset: expected at most %d, which ONNX Runtime %s knows, found %d", most.opset,
			most.version, c.opset)
	}
	// Files of IR 3 list weights as inputs, which then need not be given.
	c.inputs = slices.DeleteFunc(slices.Clone(c.inputs), func(v value) bool {
		_, ok := c.weights[v.name]
		return ok
	})
	c.connected()
}

// connected checks that whatever a node or an output needs is there.
func (c *check) connected() {
	there := func(name string) bool {
		_, isWeight := c.weights[name]
		_, isOutput := c.producers[name]
		return name == "" || isWeight || isOutput || slices.ContainsFunc(c.inputs,
			func(v value) bool { return v.name == name })
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
	for _, v := range c.outputs {
		if !there(v.name) {
			missing[v.name] = true
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	for _, name := range names[:min(most, len(names))] {
		c.wrong("graph: expected a node, a weight or an input that gives %q, found none", name)
	}
}

// number is a value of the metadata in a range. sherpa-onnx reads it with atoi: of "16k" it would
// take 16.
func (c *check) number(key string, least, most int) int {
	text, ok := c.metadata[key]
	if !ok || text == "" {
		c.wrong("metadata %s: expected a number, found none", key)
		return 0
	}
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		c.wrong("metadata %s: expected a whole number, found %q", key, text)
		return 0
	case v < least || v > most:
		c.wrong("metadata %s: expected %s, found %d", key, between(least, most), v)
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

// word is a value of the metadata that is one of those given, or any where none are.
func (c *check) word(key string, oneOf ...string) string {
	text, ok := c.metadata[key]
	switch {
	case !ok || text == "":
		if !slices.Contains(oneOf, "") {
			c.wrong("metadata %s: expected a value%s, found none", key, list(oneOf))
		}
	case len(oneOf) > 0 && !slices.Contains(oneOf, text):
		c.wrong("metadata %s: expected one%s, found %q", key, list(oneOf), text)
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

// Element types of TensorProto.
const floatType, int64Type = 1, 7

// tensor checks an input or an output against a shape. A dimension that either leaves open fits
// any.
func (c *check) tensor(role string, v value, element int64, shape ...int64) {
	if v.element != element {
		c.wrong("%s %q: expected elements of type %s, found %s", role, v.name, elementName(element),
			elementName(v.element))
	}
	if !v.hasShape {
		return
	}
	fits := len(v.shape) == len(shape)
	for i := 0; fits && i < len(shape); i++ {
		fits = v.shape[i] == shape[i] || v.shape[i] == free || shape[i] == free
	}
	if !fits {
		c.wrong("%s %q: expected the shape %s, found %s", role, v.name, dimensions(shape),
			dimensions(v.shape))
	}
}

func elementName(element int64) string {
	switch element {
	case 0:
		return "none (no tensor)"
	case floatType:
		return "float"
	case int64Type:
		return "int64"
	}
	return strconv.FormatInt(element, 10)
}

// dimensions prints a shape; * is any size.
func dimensions(shape []int64) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		if words[i] = strconv.FormatInt(n, 10); n == free {
			words[i] = "*"
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
