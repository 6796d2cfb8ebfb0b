// Package scenario reads scenario files. A scenario is a YAML file that describes a pipeline: its
// card, files, models and stages. vramsoak simulate and vramsoak validate simulate scenarios on a
// card that need not exist.
//
//	s, err := scenario.Read(src, "pipeline.yaml") // the error names every mistake
//	for _, m := range s.Lint() { ... }            // warnings: no effect, or an unexpected one
//	s.GPU, err = scenario.Card("RTX 5080")        // the card from a command line
//
// # The file
//
// A complete file:
//
//	name: transcription
//	about: Whisper and a waveform, on a card of 16 GB
//	gpu: {card: RTX 5080, occupied: 300MiB}   # or {total: 16GiB, context: 480MiB}, or just RTX 5080
//	env: {PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:128"}
//	files: {count: 200, seconds: 60-600, seed: 7}
//	models:
//	  - {id: asr, model: whisper-large-v3, dtype: float16, beams: 5, tokens: 200}
//	  - {id: own, weights: 600MiB, resident: true}   # a model that is not in the table: its size
//	initialization: Pipeline Initialization          # a checkpoint at the start of each file
//	stages:
//	  - name: Transcription
//	    models: [asr, own]
//	    items: ceil(seconds / 30)
//	    batch: 8
//	    item_seconds: 30
//	    seconds: seconds / 60
//	    tensors:
//	      - {name: waveform, size: seconds * 16000 * 4, until: file}
//	      - {name: words, shape: [batch, 448], dtype: int64, each: pass, until: stage}
//	    cleanups:
//	      - {name: Whisper, frees: [asr], empty_cache: true}
//	    on_oom: halve
//	final: [{name: Final}]
//	clear: {every: 50, before: [Transcription]}
//	restart_every: 100
//	faults: [{keep: asr, share: 10%, from_file: 150}]
//
// Only stages are required. A pipeline file for validate has no gpu, files and faults: the command
// line gives the card and the files. Keys that begin with x- may hold YAML anchors. Aliases and
// merges (<<) work.
//
//   - gpu: a card (see [Card]) or its total memory. context is the memory that CUDA takes outside
//     of the allocator. occupied is the memory that other processes hold.
//   - memory_fraction: as torch.cuda.set_per_process_memory_fraction. clear_on_start: ends the
//     processes that occupy the card.
//   - files: the number of files, and their length in seconds. With a range such as 60-600, a
//     length is drawn for each file. In training a file is an epoch.
//   - models: the first stage that runs a model loads it. The cleanup that names the model frees
//     it; without such a cleanup, it is freed at the end of the stage. A resident model is loaded
//     before the first file and stays. With eager: true, attention makes the matrix of scores. With
//     train: true, a pass is a training step: gradients last until the next step begins or the
//     stage ends, and Adam's states stay. checkpointing: true keeps only the inputs of the layers
//     for the backward pass. train_layers is the number of layers, from the last one, that train
//     besides the head; file is the epoch in an unfreezing schedule such as "file < 5 ? 0 : 4".
//   - stages: a stage with once: true runs before the first file, the others run for each file. A
//     stage makes ceil(items / batch) passes. Each is a forward pass of all models of the stage,
//     with the activations that package models computes. With accumulate: 2, a pass takes half of
//     the batch, and the optimizer steps after every second pass.
//   - tensors: further allocations, with a size or a shape. each says whether a tensor is allocated
//     in each pass or once in the stage. until says whether it lives until the end of the pass,
//     stage, file or run; a cleanup may free it earlier. With until: next it lives as a variable of
//     a loop does: until the next pass or file has allocated its own. count is the number of such
//     tensors at once. kept says how many of them live until the end of the run instead, because
//     something still refers to them: a list, or a view of a part, which keeps the whole tensor.
//     pin_memory: true, with workers and prefetch, is a DataLoader whose batches are in pinned host
//     memory.
//   - stream, of a stage or a tensor: the CUDA stream on which its kernels run, or on which the
//     tensor is allocated; 0 is the default stream.
//   - cleanups: log Before and After NAME Cleanup. frees names models and tensors. Without frees,
//     the cleanup frees all memory of the stage. final lists the cleanups at the end of a file.
//   - clear: when torch.cuda.empty_cache is called: every so many passes, before and after stages,
//     at all cleanups.
//   - restart_every: the number of files after which a new process starts.
//   - on_oom: fail (the file fails, and the next one begins), halve (the batch, for good; the pass
//     is repeated) or skip (the stage is abandoned, and the file goes on).
//   - costs: malloc, free, failed_malloc and synchronize are seconds per call, malloc_per_gib and
//     free_per_gib are added for each GiB of a call; load is seconds per GiB of weights.
//   - faults: {keep: the model or tensor that is not freed, share: the part of it that stays,
//     from_file}, {graph: the model whose saved activations stay after each pass, from_file},
//     {leak: bytes per file, stage}, {crash: file, stage}. A share consists of whole allocations,
//     at least one. If several faults keep the same model or tensor, the largest share counts.
//   - parameters: named numbers that expressions may use: {n_mels: 128}, or {n_mels: {value: 128,
//     try: [96, 64], cost: detail}} with other values that validate may propose. table has rows for
//     validate --table: names with values of parameters.
//   - footprint, of a stage: {base, per_second, kept, kept_per_second, reserved}, as vramsoak
//     profile measures it. It replaces models and tensors.
//
// The numbers of stages and tensors are sizes (1.5GiB) or expressions. Variables: seconds, items,
// batch, pass, item_seconds (the length of the items of this pass), index (the number of a tensor
// among its count, from 1), file, files, total, free (bytes of the card). Constants: KiB, MiB, GiB.
// The operators are those of arithmetic (+ - * / % **), comparisons and a ? b : c. Functions: ceil,
// floor, round, min, max, abs and random(low, high), which draws the same number for the same file,
// pass, index and seed. Inside {braces} and [brackets], quote an expression that has a comma.
//
// # Errors and warnings
//
// The linter reports errors and warnings. It reports an error if the scenario cannot run as
// written, or if the simulation would differ from the real pipeline. It reports a warning for a
// setting that has no effect, or another effect than a reader would expect.
//
//	rule                  verdict  because
//	alloc-conf            error    PyTorch raises at its first allocation: unknown options, = for :,
//	                               true for True, max_split_size_mb up to 20, a threshold beyond 0
//	                               to 1, divisions that are not powers of two
//	alloc-backend         error    cudaMallocAsync is another allocator, which is not modelled
//	no-caching            error    PYTORCH_NO_CUDA_MEMORY_CACHING turns the modelled allocator off
//	batch                 error    not a whole number, or below 1 for some file
//	batch                 warning  larger than the number of items of the longest file: never full
//	expression            error    it has no value, or a value below 0, for some file
//	unbounded             error    more than ten million passes or allocations in a file, all of
//	                               which would be simulated
//	resident-freed        error    a cleanup frees a model that is resident
//	two-confs             warning  PYTORCH_CUDA_ALLOC_CONF wins over the other two variables
//	conf-variable         warning  PyTorch 2.6 for CUDA does not read the name, or it is misspelt
//	gc-without-fraction   warning  garbage_collection_threshold acts only with memory_fraction
//	gc-expandable         warning  expandable segments are never collected
//	split-expandable      warning  expandable segments ignore max_split_size_mb and are split
//	option-twice          warning  the last one counts
//	number-tail           warning  PyTorch reads 64 of 64MB and 64.5
//	blanks                warning  PyTorch drops blanks; a shell may end the value at a blank
//	no-effect             warning  limits above the card, divisions of 1, rounding without a limit
//	fraction-one          warning  memory_fraction: 1 limits nothing (it allows garbage collection)
//	clear-never           warning  the setting never empties the cache
//	clear-on-start        warning  nothing occupies the card
//	restart-never         warning  restart_every is 0, or not less than the number of files
//	unused-model          warning  no stage runs it
//	unused-parameter      warning  no expression uses it
//	accumulate-never      warning  the stage trains nothing, or its batch is smaller
//	accumulate-uneven     warning  the number does not divide the batch
//	training-format       warning  a model that trains has float16 or int8 weights
//	train-layers          warning  more layers than the model has
//	fault-never           warning  the run ends earlier, or nothing frees what the fault keeps
package scenario
