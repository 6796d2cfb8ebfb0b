package pipeline

// The policy of when memory that nobody uses is given back, in one place:
//
//   - after every cleanup of a [Scope], before its After is read; silently
//   - when the batch begins, so that it starts from what the process really needs: [Batch.Run]
//   - where one model makes room for another: [Runner.Clear], which the stages call before they load theirs
//   - in voice enrollment after every so many batches, when memory ran out, and at its end: [Runner.Enroll]
//   - when memory ran out for a file, before the next: [Batch.Run]
//
// [Runner.KeepCache] switches all of them off.
//
// What giving back can do depends on the allocator. The host's is glibc's malloc_trim: whole pages
// that nobody uses go back to the system, but between chunks in use they stay reserved. On CUDA
// ggml caches nothing worth speaking of: what whisper.cpp frees, the driver has at once. ONNX
// Runtime's arenas grow and never shrink while a session lives (it can shrink them after a run,
// memory.enable_memory_arena_shrinkage in onnxruntime_run_options_config_keys.h, which sherpa-onnx
// does not ask for), and a part of what CUDA sets up for the process stays for its life. That only
// the end of the process frees: run the stage in one of its own, as gpupipeline --isolate does.
// What an earlier process held, crashed or not, the system and the driver have taken back when it
// was gone; where one is left over it must be ended, which is not the pipeline's to do.

// Clear gives cached memory back and logs when: "before transcription". It does nothing where the
// runner keeps its cache.
func (r *Runner) Clear(when string) {
	if r.KeepCache {
		return
	}
	r.Device.Trim()
	r.Logf("Cleared GPU cache %s", when)
}

// trim is Clear without a word.
func (r *Runner) trim() {
	if !r.KeepCache {
		r.Device.Trim()
	}
}
