// Package onnx checks models in ONNX format and runs them in ONNX Runtime.
//
//	err := onnx.Check("model.onnx", "export the model anew", func(c *onnx.Checked) {
//		if len(c.Inputs) != 1 {
//			c.Wrong("inputs: expected 1, the samples, found %d", len(c.Inputs))
//		}
//	})
//	s, err := onnx.Open("model.onnx", onnx.Options{})
//	defer s.Close()
//	err = s.Run([]onnx.Input{{Name: "x", Shape: []int64{1, 3}, Floats: samples}}, "y", use)
//
// ONNX Runtime aborts the process for some files, such as those in which a tensor has fewer values
// than its shape requires. So [Check] reads a file before ONNX Runtime loads it. [Open] and
// [Session.Run] return an error if ONNX Runtime does.
//
// ONNX Runtime comes with the module github.com/k2-fsa/sherpa-onnx-go-linux and needs no
// installation. A [Session] computes on the CPU.
package onnx
