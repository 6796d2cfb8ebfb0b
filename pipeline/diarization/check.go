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

// A Kind is the purpose of a model.
type Kind int

// The kinds of models.
const (
	Segmentation Kind = iota // separates the speakers in a window
	Embedding                // turns a voice into a vector
)

// Check returns an error unless sherpa-onnx can use the model at path. Check only reads the file.
// It checks that the file is complete, that ONNX Runtime knows its IR version and opset, and that
// its metadata, inputs and outputs are as sherpa-onnx expects them, because sherpa-onnx does not
// check them. The error names every mistake, what was expected, and what to do.
//
// Files written by sherpa-onnx's export scripts pass: scripts/pyannote/segmentation, wespeaker,
// 3dspeaker and nemo/speaker-verification in github.com/k2-fsa/sherpa-onnx.
func Check(path string, kind Kind) error {
	_, err := inspect(path, kind, runtimeLimits())
	return err
}

// properties are the numbers that the checks read from a model, and that its use needs.
type properties struct {
	// window is the length of the segmentation model's window, and frame the step from one frame to
	// the next, both in samples.
	window, frame int
	speakers      int // largest number of speakers in a window
	classes       int // classes of a frame
	dim           int // numbers in an embedding

	input  [3]int // a shape that the model accepts
	length int    // the value of its second input; 0 if it has none
	output int    // index of the output that is used
}

// limits are the highest versions of the ONNX format that a version of ONNX Runtime accepts.
type limits struct {
	version   string
	ir, opset int64 // 0 if no limit is known
}

// limitsOf returns the limits of a version of ONNX Runtime. They follow from the ONNX release that
// this version implements (docs/Versioning.md in github.com/microsoft/onnxruntime and in
// github.com/onnx/onnx). Versions after 1.20 get no limits. Versions before 1.17 get the limits of
// 1.17.
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

// scripts has sherpa-onnx's export scripts for each kind of model, for messages.
var scripts = map[Kind]string{
	Segmentation: "scripts/pyannote/segmentation",
	Embedding:    "scripts/wespeaker, scripts/3dspeaker or scripts/nemo/speaker-verification",
}

// inspect checks the model file at path and returns the model's properties. most are the highest
// versions that ONNX Runtime accepts.
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

// judge checks a model file of size bytes and returns the model's properties.
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

// A check collects the mistakes of a model.
type check struct {
	*model
	mistakes []error
}

func (c *check) wrong(format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf(format, args...))
}

// header checks what every model must have: a graph, and versions that ONNX Runtime accepts.
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
	case c.opset < 7: // 7 is the oldest opset that ONNX Runtime knows
		c.wrong("opset: expected 7 or more of the standard operators, found %d", c.opset)
	case most.opset > 0 && c.opset > most.opset:
		c.wrong("opset: expected at most %d, which ONNX Runtime %s knows, found %d", most.opset,
			most.version, c.opset)
	}
	// Files of IR version 3 list weights as inputs too, but a caller need not give weights.
	c.inputs = slices.DeleteFunc(slices.Clone(c.inputs), func(v value) bool {
		_, ok := c.weights[v.name]
		return ok
	})
	c.connected()
}

// connected checks that each input of a node, and each output of the model, comes from a node, a
// weight or an input of the model.
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

// number returns a number from the metadata and checks its range. A text such as "16k" is a
// mistake, although sherpa-onnx would read it as 16 with atoi.
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

// word returns a word from the metadata. If oneOf is not empty, the word must be in oneOf.
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

// The element types in ONNX's TensorProto that models use here.
const floatType, int64Type = 1, 7

// tensor checks that an input or an output has this element type and shape. A dimension that is
// free, in the file or in shape, matches any size.
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

// dimensions prints a shape for messages, such as [1, *, 80]; * is any size.
func dimensions(shape []int64) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		if words[i] = strconv.FormatInt(n, 10); n == free {
			words[i] = "*"
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
