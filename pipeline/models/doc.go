// Package models computes how much GPU memory known models need under PyTorch: the tensors of their
// weights, and the activations of a pass for a given input.
//
//	m, err := models.Lookup("openai/whisper-large-v3")      // or "whisper-large-v3", "large-v3"
//	m.Weights(models.Float16)                               // 3,086,981,120 bytes
//	in := models.Input{Batch: 4, Beams: 5, Tokens: 448}
//	models.Peak(m.Forward(in, models.Float16))              // its most bytes, without weights
//	for _, a := range m.Forward(in, models.Float16) { ... } // the tensors of a pass
//
// A pass is a list of operations (pass.go). Each operation makes one tensor and reads other
// tensors. As in PyTorch, a tensor lives until the last operation that reads it, unless a Python
// variable (pass.hold) or autograd (training.go) holds it longer. The peak is the largest sum of
// live tensors at one operation. pass_test.go compares the peaks with PyTorch's: they differ by at
// most 0.2 % for inference, where most are equal to the byte, and by at most 6 % for training (8 %
// with checkpointing). training_test.go compares training steps with those of an H200: 0.8 % from
// the recorded peaks without workspaces, up to 8 % below the measured peaks with them.
//
// In training, the layers of a model that has repeated layers can be frozen or checkpointed (see
// [Layered]). What is frozen has no gradients and no states of the optimizer, and saves no
// activations. What is checkpointed saves only its input and is computed again for the backward
// pass. A pass of SpecGAN's discriminator is a step of WGAN-GP, with the graph of the gradient
// penalty (specgan.go). GradScaler's scalars are left out. Under autocast, bge and wav2vec 2.0 have
// a float16 residual stream here, which is float32 in PyTorch: their activations in training come
// out too small.
//
// A pass leaves out cuDNN's workspace (it depends on the card, and cuDNN does not say which
// algorithm it will use), the CUDA context, the statistics of norms, and the small tensors of a
// decoder's single tokens. For inference, only two of several equal layers appear, because further
// layers reuse the same memory.
//
// # How to add a model
//
// vit.go is a complete example.
//
//  1. Write a struct with its published dimensions, and a table of the sizes that exist. A comment
//     above the table says where they were published (config.json, the paper's table). A number
//     that is not in the table becomes a const named as in the original's code.
//  2. Write a function that makes the [Model]: its tensors by their names in the state_dict, with
//     module's linear, conv, norm, batchNorm, lstm, in the order in which PyTorch registers them.
//     List tied weights once. What register_buffer registers is a buffer.
//  3. Write forward: read the original's forward from top to bottom and write one p.op for each
//     operation that makes a new tensor, with its number of elements and what it reads. Views and
//     in-place operations make none. If a variable stays in scope (an argument of the caller, a
//     residual), p.hold it at the end of its scope. The result is p.result. For training, mark with
//     p.unsaved what no backward formula needs, and with p.joined what shares its gradient with a
//     sum or a concatenation. If the model has repeated layers, name their weights with module's
//     layer, last and head, and call p.layer before each layer and p.head after the last: then the
//     layers can be frozen and checkpointed.
//  4. usual holds the defaults for the zero fields of [Input]; multiplies says whether there is a
//     matrix multiplication. Models of one Family do the same work, so a smaller one can be
//     suggested for a larger one.
//  5. Put the model into catalogue (models.go), its published parameter count into TestCounts, and
//     PyTorch's peak into TestPeaksArePyTorchs. testdata/peaks.py measures it on the meta device,
//     without a GPU. TestPasses then checks the properties of all models for it too.
package models
