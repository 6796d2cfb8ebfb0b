package pipeline

// Cached memory that nobody uses is released
//
//   - after every cleanup of a [Scope], before its After checkpoint is read; silently
//   - when the batch begins, so that it starts from what the process really needs: [Batch.Run]
//   - before a stage loads its model, to make room for it: [Runner.Clear]
//   - in voice enrollment after every so many batches, when memory ran out, and at the end:
//     [Runner.Enroll]
//   - after a file that ran out of memory, before the next: [Batch.Run]
//
// [Runner.KeepCache] turns all of this off.
//
// How much can be released depends on the allocator. On the host, glibc's malloc_trim returns whole
// unused pages to the system; pages between chunks in use stay reserved. On CUDA, ggml caches next
// to nothing: the driver gets back at once what whisper.cpp frees. ONNX Runtime's arenas grow and
// never shrink while a session lives. It could shrink them after a run
// (memory.enable_memory_arena_shrinkage in onnxruntime_run_options_config_keys.h), but sherpa-onnx
// does not ask for that. A part of what CUDA sets up stays until the process ends. Only the end of
// the process frees these: run the stage in its own process, with gpupipeline --isolate. When a
// process ends, even by a crash, the system and the driver take back all it held. A process that an
// earlier run left running must be ended; the pipeline does not do that.

// Clear releases cached memory and logs when: "before transcription". It does nothing if the runner
// keeps its cache.
func (r *Runner) Clear(when string) {
	if r.KeepCache {
		return
	}
	r.Device.Trim()
	r.Logf("Cleared GPU cache %s", when)
}

// trim releases cached memory like Clear, without a line in the log.
func (r *Runner) trim() {
	if !r.KeepCache {
		r.Device.Trim()
	}
}
