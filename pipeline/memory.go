package pipeline

// The pipeline releases cached memory at these times:
//
//   - after every cleanup of a [Scope], before its After checkpoint, without a line in the log
//   - when the batch begins, so that the first checkpoint shows what the process really needs:
//     [Batch.Run]
//   - before a stage loads its model, to make room for the model: [Runner.Clear]
//   - in voice enrollment and text embedding after every ClearEvery batches, when memory ran out,
//     and at the end: [Runner.Enroll], [Runner.EmbedTexts]
//   - after a file that ran out of memory, before the next file begins: [Batch.Run]
//
// [Runner.KeepCache] turns all of this off.
//
// How much can be released depends on the allocator. On the host, glibc's malloc_trim returns whole
// unused pages to the system; pages between chunks in use stay reserved. On CUDA, ggml caches next
// to nothing: memory that whisper.cpp frees goes back to the driver at once. ONNX Runtime's arenas
// grow and never shrink while a session lives. ONNX Runtime can shrink them after a run
// (memory.enable_memory_arena_shrinkage in onnxruntime_run_options_config_keys.h), but sherpa-onnx
// does not set this option. The text embedder uses no arena. A part of the CUDA context stays until
// the process ends, too. To free the arenas and the context after a stage, run the stage in its own
// process (gpupipeline --isolate). When a process ends, even by a crash, the system and the driver
// free all its memory. The pipeline does not end processes that an earlier run left running.

// Clear releases cached memory and logs when: Clear("before transcription") logs "Cleared GPU cache
// before transcription". If KeepCache is set, Clear does nothing.
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
