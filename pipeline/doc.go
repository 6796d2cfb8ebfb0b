// Package pipeline runs a batch of files through stages that log their memory and give it back.
//
// A [Runner] writes the log, a [Scope] holds the cleanups to run, a [Batch] goes through the files:
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
// logs, for each file,
//
//	[pipeline] file-start path=audio/0001.wav
//	[GPU Memory] Pipeline Initialization: ...
//	[GPU Memory] Before Transcription: ...
//	[GPU Memory] Before Whisper Cleanup: ... holds=136314880 ...
//	[GPU Memory] After Whisper Cleanup: ...
//	[GPU Memory] After Transcription (post-cleanup): ...
//	[pipeline] file-end path=audio/0001.wav status=ok seconds=0.412
//
// Cleanups always run: after a return, an error, a panic or runtime.Goexit. This package runs no
// engine. Its advice names flags of gpupipeline.
//
// [Runner.Enroll] computes voice embeddings in batches, which it halves when memory runs out.
// memory.go documents when cached memory is released. [Situation.Advise] writes the advice that is
// logged when memory runs out.
package pipeline
