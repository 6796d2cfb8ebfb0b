// Package pipeline runs a batch of files through stages that log their memory and give it back.
//
// A [Runner] writes the log, a [Scope] holds what must be freed, a [Batch] goes through the files:
//
//	r := &pipeline.Runner{Device: host, Log: os.Stdout}
//	b := &pipeline.Batch{Runner: r, First: 1, Work: func(ctx context.Context, file *pipeline.Scope, f pipeline.File) error {
//		return r.Stage(ctx, "Transcription", func(ctx context.Context, s *pipeline.Scope) error {
//			held := s.Growth()
//			model, err := load()
//			if err != nil {
//				return err
//			}
//			s.Defer("Whisper", held, model.Close)
//			return model.Transcribe(ctx, f.Path)
//		})
//	}}
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
// Cleanups run however the work ends: by return, error, panic or runtime.Goexit. Nothing here runs
// an engine; what is advised is in terms of gpupipeline's flags.
//
// [Runner.Enroll] embeds voices in batches that halve when memory runs out; memory.go has the
// policy of when memory is given back, and [Situation.Advise] what the log advises where there was
// too little.
package pipeline
