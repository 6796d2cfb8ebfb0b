// Package simulator runs a scenario on the virtual GPU: a pipeline that allocates as the real one
// would, on a model of PyTorch's caching allocator, and that logs like a real one.
//
//	s, err := scenario.Read(src, "long-batch-before.yaml")
//	outcome, err := simulator.Run(s, simulator.Options{Files: 200, Log: os.Stdout})
//
// A process does the following, in this order:
//
//   - It takes the memory of its context, besides what others hold on the card. It loads the
//     resident models, tensor by tensor.
//   - It runs the stages with once: true.
//     For each file it runs the other stages. A stage loads the models that are not loaded,
//     allocates its tensors and makes its passes; package models says which activations a pass
//     allocates and frees. Then it runs its cleanups and frees what is its own, like a function
//     that returns.
//
// A tensor that outlives the span in which it is allocated (each: pass, until: run) is a result. It
// is allocated when the work of the span is done, while the span's other tensors still live. All
// others are allocated before the work. The output of a model lives until its next pass has made a
// new one, like a variable that is assigned again.
//
// Nothing is scripted: memory runs out when [allocator.Allocator.Malloc] says so.
//
// Time is virtual. A stage takes the seconds that the scenario gives it. Calls of the driver add to
// that (a cudaMalloc, a cudaFree, a synchronize before cached memory is released), so a process
// short of memory slows down. The same scenario gives the same log, to the byte.
package simulator
