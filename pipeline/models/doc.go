// Package models knows what models hold on a GPU under PyTorch: weights as their real tensors,
// activations as functions of the input.
//
//	m, err := models.Lookup("openai/whisper-large-v3")              // or "whisper-large-v3", "large-v3"
//	m.Weights(models.Float16)                                       // 3,086,981,120 bytes
//	in := models.Input{Batch: 4, Beams: 5, Tokens: 448}
//	m.PeakBytes(in, models.Float16)                                 // the most that one pass holds besides
//	for _, a := range m.Forward(in, models.Float16) { ... }         // its tensors: a name, bytes, from which step to which
//
// A pass is told as operations (pass.go). Each is a step that makes one tensor and reads others; a
// tensor ends with its last reader, unless a Python variable (pass.hold) or autograd (training.go)
// holds it longer. So a peak is input, output and whatever else is live at an operation, which is
// how PyTorch itself comes to it: pass_test.go has its own figures, and the passes are within 0.2 %
// of them for inference (most to the byte), 6 % for training.
//
// What a pass does not tell: cuDNN's workspace (it depends on the card, and cuDNN does not say
// which algorithm it will take), the CUDA context, the statistics of norms, the small tensors of a
// decoder's single tokens. Layers that are all alike are written down twice for inference: the
// others take the memory that those gave back.
//
// # How to add a model
//
// Look at vit.go: it is a whole model in ten minutes.
//
// 1. A struct with its published dimensions, and a table of the sizes that there are, with where
// they were published (config.json, the
//
//	paper's table) above it. A number that is not in the table has its name in the original's code as a const.
//
// 2. A function that makes the [Model]: its tensors by their names in the state_dict, with module's
// linear, conv, norm, batchNorm, lstm,
//
//	in the order in which PyTorch registers them. Tied weights are there once. What register_buffer registers is a buffer.
//
// 3. forward: read the original's forward from top to bottom and write one p.op for each operation
// that makes a new tensor (views
//
//	and in-place operations make none), with the number of its elements and what it reads. Where a name goes on living (an argument of
//	the caller, a residual), p.hold it at the end of its scope. The result is p.result.
//	For training, p.unsaved is what no backward formula needs and p.joined what a sum or a concatenation shares its gradient with.
//
// 4. usual says what a zero field of [Input] means; multiplies whether there is a matrix
// multiplication. Family is of models that
//
//	do the same work, so that a smaller one may be suggested for a larger one.
//
// 5. Put it into catalogue (model.go), its published parameter count into TestCounts, and what
// PyTorch says of its peak into
//
//	TestPeaksArePyTorchs: testdata/peaks.py measures that on the meta device, so no GPU is needed. The properties of all models
//	(TestPasses) then hold for it too.
package models
