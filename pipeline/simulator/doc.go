// Package simulator runs a scenario on a simulated GPU. The simulated pipeline calls a model of
// PyTorch's caching allocator as the real pipeline calls the allocator, and writes the log that the
// real pipeline would write.
//
//	s, err := scenario.Read(src, "long-batch-before.yaml")
//	outcome, err := simulator.Run(s, simulator.Options{Files: 200, Log: os.Stdout})
//
// A process does the following, in this order:
//
//   - The process takes the memory of its CUDA context and loads the resident models, tensor by
//     tensor.
//   - It runs the stages with once: true.
//   - For each file it runs the other stages. A stage loads its models if they are not loaded yet,
//     allocates its tensors and makes its passes. Package models says which activations a pass
//     allocates and frees. Then the stage runs its cleanups and frees the rest of its own memory,
//     as a function frees its local variables when it returns.
//
// A tensor that outlives the pass or stage in which it is allocated (such as each: pass, until:
// run) is a result. Results are allocated at the end of that pass or stage, before the other
// tensors are freed. All other tensors are allocated at the beginning. The output of a model lives
// until the model's next pass has made a new output, like a variable that gets a new value.
//
// The simulator does not decide when memory runs out: [allocator.Allocator.Malloc] fails when no
// memory is left.
//
// Time is simulated too. A stage takes the seconds that the scenario gives it, plus the time of its
// driver calls: cudaMalloc, cudaFree, and the synchronization before cached memory is released. A
// process that is short of memory therefore slows down. The same scenario gives the same log, to
// the byte.
package simulator
