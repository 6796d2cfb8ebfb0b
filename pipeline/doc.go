// Package pipeline runs a batch of files through the stages of a GPU pipeline. It logs the memory
// in use before and after each stage, and frees the memory of a stage when the stage ends.
//
// A [Runner] writes the log, a [Scope] holds the cleanups of a stage or a file, and a [Batch]
// processes the files:
//
//	r := &pipeline.Runner{Device: host, Log: os.Stdout}
//	work := func(ctx context.Context, file *pipeline.Scope, f pipeline.File) error {
//		return r.Stage(ctx, "Transcription", func(ctx context.Context, s *pipeline.Scope) error {
//			held := s.Growth()
//			model, err := load()
//			if err != nil {
//				return err
//			}
//			s.Defer("Whisper", held, model.Close)
//			return model.Transcribe(ctx, f.Path)
//		})
//	}
//	b := &pipeline.Batch{Runner: r, First: 1, Work: work}
//	result, err := b.Run(ctx, paths)
//
// This program logs these lines for each file:
//
//	[pipeline] file-start path=audio/0001.wav
//	[GPU Memory] Pipeline Initialization: ...
//	[GPU Memory] Before Transcription: ...
//	[GPU Memory] Before Whisper Cleanup: ... holds=136314880 ...
//	[GPU Memory] After Whisper Cleanup: ...
//	[GPU Memory] After Transcription (post-cleanup): ...
//	[pipeline] file-end path=audio/0001.wav status=ok seconds=0.412
//
// Cleanups always run, whether the work of a stage returns, fails, panics or calls runtime.Goexit.
// This package contains no speech engine: the caller's Work function does the work.
//
// [Runner.Enroll] computes embeddings of voices in batches, and [Runner.EmbedTexts] of texts. Both
// halve the batch when memory runs out.
// The comment in memory.go lists when cached memory is released. When memory runs out, the runner
// logs the advice of [Situation.Advise], which names flags of gpupipeline and vramsoak.
package pipeline
