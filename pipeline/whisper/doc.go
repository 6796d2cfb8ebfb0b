// Package whisper transcribes audio with whisper.cpp.
//
//	devices, err := whisper.Init(false)
//	model, err := whisper.Load("ggml-base.en.bin")
//	defer model.Close()
//	transcript, err := model.Transcribe(ctx, pcm, whisper.Options{Language: "en", Threads: 2})
//
// It needs the library and so is built only with the tag "whisper"; ci/native.sh makes the library
// available. A failed assertion in it aborts the process: whoever uses this package does so in a
// process that may die.
package whisper
