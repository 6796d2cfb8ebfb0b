// Package whisper transcribes audio with whisper.cpp.
//
//	devices, err := whisper.Init(false)
//	model, err := whisper.Load("ggml-base.en.bin")
//	defer model.Close()
//	transcript, err := model.Transcribe(ctx, pcm, whisper.Options{Language: "en", Threads: 2})
//
// The package needs the library whisper.cpp, so it is built only with the tag "whisper";
// ci/native.sh fetches the library. A failed assertion in the library aborts the process, so use
// this package only in a process that may die.
package whisper
