// Package scenario reads pipelines that are written down: the YAML file that vramsoak simulate and
// vramsoak validate take.
//
//	s, err := scenario.Read(src, "pipeline.yaml") // every mistake at once, each with its line and column
//	for _, m := range s.Lint() { ... }            // what can be read and does nothing, or not what it seems
//	s.GPU, err = scenario.Card("RTX 5080")        // what a command line puts in
//
// # The file
//
// A whole one:
//
//	name: transcription
//	about: Whisper and a waveform, on a card of 16 GB
//	gpu: {card: RTX 5080, occupied: 300MiB}   # or {total: 16GiB, context: 480MiB}, or just RTX 5080
//	env: {PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:128"}
//	files: {count: 200, seconds: 60-600, seed: 7}
//	models:
//	  - {id: asr, model: whisper-large-v3, dtype: float16, beams: 5, tokens: 200}
//	  - {id: own, weights: 600MiB, resident: true}   # one that is not in the table: its size
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
// Only stages must be there. What validate calls a pipeline file is one without gpu and files,
// which its command line gives, and faults. Keys that begin with x- are for anchors; aliases and <<
// are followed.
//
//   - gpu: a card (see [Card]) or its total; context is what CUDA takes beside the allocator, occupied what others hold.
//   - memory_fraction: as torch.cuda.set_per_process_memory_fraction. clear_on_start: ends what occupies the card.
//   - files: how many, and how long: a length, or from-to, drawn for each file. In training a file is an epoch.
//   - models: a model is loaded by the first stage that runs it, and freed by the cleanup that names it, else at the end of
//     that stage. A resident one is loaded before the first file and stays. With eager: true attention makes the matrix of
//     scores; with train: true a pass is a training step: gradients last until the next one begins, Adam's states stay.
//   - stages: with once: true before the first file, else for each file. A stage makes ceil(items / batch) passes, each a
//     forward pass of all of its models, with their activations as package models knows them.
//   - tensors: what is allocated beside: a size or a shape, each pass or each stage, until the end of the pass, stage, file
//     or run, or until a cleanup frees it; count of them at once.
//   - stream, of a stage or a tensor: the CUDA stream that it works on or is allocated on; 0 is the default stream.
//   - cleanups: Before and After NAME Cleanup; frees names models and tensors, all that the stage holds where it is left
//     out. final are those at a file's end.
//   - clear: when torch.cuda.empty_cache is called: every so many passes, before and after stages, at all cleanups.
//   - restart_every: files after which the process begins anew.
//   - on_oom: fail (the file fails, and the next one begins), halve (the batch, for good; the pass is made again) or skip (the
//     stage is given up, and the file goes on).
//   - costs: {malloc, free, synchronize}: seconds a call; load: seconds per GiB of weights.
//   - faults: {keep: what is not freed, share: how much of it, from_file}, {leak: bytes a file, stage}, {crash: file, stage}. A
//     share is kept in whole allocations, one at least. Of several that keep the same the largest share counts.
//   - footprint, of a stage: {base, per_second, kept, kept_per_second, reserved}, as vramsoak profile measures it; it replaces
//     models and tensors.
//
// Numbers of stages and tensors are sizes (1.5GiB) or expressions: seconds, items, batch, pass,
// file, files, total, free (bytes of the card), KiB, MiB, GiB; + - * / % **, comparisons and a ? b
// : c; ceil, floor, round, min, max, abs and random(low, high), which draws the same for the same
// file and seed. In {braces} and [brackets] an expression with a comma goes in quotes.
//
// # What is refused, what is warned of
//
// An error is what cannot run as written, or what would make the answer one about something else. A
// warning is what runs, and does nothing or not what it seems.
//
//	rule                  verdict  because
//	alloc-conf            error    PyTorch raises at its first allocation: unknown options, = for :, true for True, max_split_size_mb
//	                               up to 20, a threshold beyond 0 to 1, divisions that are no power of two
//	alloc-backend         error    cudaMallocAsync is another allocator: the answer would not be about it
//	no-caching            error    PYTORCH_NO_CUDA_MEMORY_CACHING turns the allocator off, likewise
//	batch                 error    no whole number, or below 1 for some file
//	batch                 warning  larger than the items of the longest file: its memory is never used
//	expression            error    it has no value, or one below 0, for some file
//	unbounded             error    more passes a file, or allocations of a tensor, than are simulated in seconds: ten million
//	resident-freed        error    a cleanup frees a model that is said to stay: one of the two is not meant
//	two-confs             warning  PYTORCH_CUDA_ALLOC_CONF wins over PYTORCH_HIP_ALLOC_CONF and PYTORCH_ALLOC_CONF
//	conf-variable         warning  a variable that PyTorch 2.6 for CUDA does not read, or a misspelt one
//	gc-without-fraction   warning  garbage_collection_threshold acts only where a memory_fraction is set
//	gc-expandable         warning  expandable segments are never collected
//	split-expandable      warning  expandable segments are split whatever max_split_size_mb says
//	option-twice          warning  the last one counts
//	number-tail           warning  PyTorch reads 64 of 64MB and 64.5
//	blanks                warning  PyTorch drops them, a shell may end the value there
//	no-effect             warning  limits above the card, divisions of 1, rounding without a split limit
//	fraction-one          warning  memory_fraction: 1 limits nothing (it lets garbage_collection_threshold act)
//	clear-never           warning  the cache is never emptied by it
//	clear-on-start        warning  nothing occupies the card
//	restart-never         warning  more files than the run has, or 0
//	unused-model          warning  no stage runs it
//	fault-never           warning  the run ends before; or what it keeps stays anyway
package scenario
