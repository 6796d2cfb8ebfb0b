// Package simulator runs a scenario on the virtual GPU: a pipeline that allocates as the real one
// would, on a model of PyTorch's caching allocator, and that logs as a real one does.
//
//	s, err := scenario.Read(src, "long-batch-before.yaml")
//	outcome, err := simulator.Run(s, simulator.Options{Files: 200, Log: os.Stdout})
//
// What a process does, in this order:
//
//   - It takes what the context takes, beside what others hold on the card, and loads the resident models, tensor by tensor.
//   - It runs the stages that are made once.
//   - For each file it runs the others. A stage loads the models that are not loaded, allocates its tensors, makes its passes
//     (the activations of a forward pass come and go as package models says), runs its cleanups, and lets go of what was its
//     own, as a function does that returns.
//
// A tensor that outlives the span in which it is allocated (each: pass, until: run) is a result: it
// is allocated when the work of the span is done, while the span's other tensors are still there.
// Every other one is allocated before the work. What a model puts out lives until its next pass has
// put out anew, as a variable does that is assigned again.
//
// Nothing is scripted: memory runs out where [allocator.Allocator.Malloc] says so.
//
// Time is virtual. A stage takes the seconds that the scenario gives it, and what the driver is
// called for comes on top (a cudaMalloc, a cudaFree, a synchronize before cached memory is
// released), so that a process under pressure slows down. The same scenario gives the same bytes of
// log each time.
package simulator
