package diarization

import (
	"fmt"
	"io"

	"vramsoak/pipeline/onnx"
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
	_, err := inspect(path, kind)
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

	inputs, outputs []onnx.Value

	input  [3]int // a shape that the model accepts
	length int    // the value of its second input; 0 if it has none
	output int    // index of the output that is used
}

// scripts has sherpa-onnx's export scripts for each kind of model, for messages.
var scripts = map[Kind]string{
	Segmentation: "scripts/pyannote/segmentation",
	Embedding:    "scripts/wespeaker, scripts/3dspeaker or scripts/nemo/speaker-verification",
}

// inspect checks the model file at path and returns the model's properties.
func inspect(path string, kind Kind) (p properties, err error) {
	err = onnx.Check(path, advice(kind), kind.rules(&p))
	return p, err
}

// judge checks a model file of size bytes and returns the model's properties.
func judge(file io.ReaderAt, size int64, kind Kind) (p properties, err error) {
	err = onnx.CheckFrom(file, size, advice(kind), kind.rules(&p))
	return p, err
}

// advice says where a model of this kind comes from.
func advice(kind Kind) string {
	return fmt.Sprintf("export the model with %s of github.com/k2-fsa/sherpa-onnx", scripts[kind])
}

// rules returns the rules for a model of this kind. They write the model's properties to p.
func (kind Kind) rules(p *properties) func(*onnx.Checked) {
	return func(c *onnx.Checked) {
		switch kind {
		case Segmentation:
			*p = checkSegmentation(c)
		case Embedding:
			*p = checkEmbedding(c)
		}
		p.inputs, p.outputs = c.Inputs, c.Outputs
	}
}
