package diarization

import (
	"fmt"

	"vramsoak/pipeline/onnx"
)

// Try returns an error unless the model at path can be used: it calls [Check] and then lets ONNX
// Runtime run the model on silence. The error may wrap [onnx.ErrOutOfMemory].
func Try(path string, kind Kind) error {
	p, err := inspect(path, kind)
	if err != nil {
		return err
	}
	return try(path, p)
}

// try makes ONNX Runtime load the model and run it on silence, without sherpa-onnx. It returns an
// error if ONNX Runtime does not know an operator, or if nodes do not fit together; sherpa-onnx
// would end the process. It also checks the shape of the output, which a file may leave open. try
// does not repeat a successful trial of a file.
func try(path string, p properties) error {
	return onnx.Try(path, func() error {
		s, err := onnx.Open(path, onnx.Options{Plain: true})
		if err != nil {
			return err
		}
		defer s.Close()
		var shape []int64
		for _, n := range p.input {
			shape = append(shape, int64(n))
		}
		inputs := []onnx.Input{{
			Name: p.inputs[0].Name, Shape: shape,
			Floats: make([]float32, p.input[0]*p.input[1]*p.input[2]),
		}}
		if p.length > 0 {
			inputs = append(inputs, onnx.Input{
				Name: p.inputs[1].Name, Shape: []int64{1}, Ints: []int64{int64(p.length)},
			})
		}
		return s.Run(inputs, p.outputs[p.output].Name, func(v onnx.Value, _ []float32) error {
			v.Name = "of a run on silence"
			if err := p.checkResult(v); err != nil {
				return fmt.Errorf("%s: %w; export the model anew", path, err)
			}
			return nil
		})
	})
}

// checkResult checks the output of a model that ran on an input of the shape in p.
func (p properties) checkResult(v onnx.Value) error {
	c := &onnx.Checked{}
	if p.dim > 0 {
		c.Tensor("output", v, onnx.Float, 1, int64(p.dim))
	} else {
		c.Tensor("output", v, onnx.Float, 1, onnx.Free, int64(p.classes))
		checkFrames(c, v, p.window/p.frame)
	}
	return c.Err()
}
