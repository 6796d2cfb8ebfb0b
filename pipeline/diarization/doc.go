// Package diarization finds who speaks when in a recording, and turns voices into embeddings. It
// uses the library sherpa-onnx.
//
//	config := diarization.Config{Segmentation: "segmentation.onnx", Embedding: "embedding.onnx"}
//	d, err := diarization.Open(config)
//	defer d.Close()
//	turns, err := d.Diarize(samples) // 16 kHz, mono
//
// A segmentation model (pyannote's, exported by sherpa-onnx) separates the speakers in windows of
// ten seconds. An embedding model (WeSpeaker, 3D-Speaker, NeMo) turns the speech of each speaker in
// a window into a vector. sherpa-onnx clusters similar vectors, and each cluster is a speaker of
// the whole recording. An [Embedder] returns the vectors themselves.
//
// sherpa-onnx returns no errors: if it cannot use a model, it aborts or ends the process, or
// corrupts its memory. So this package checks each model before it loads the model, first with
// [Check] and then with ONNX Runtime itself ([Try]); see package onnx. It also checks the audio.
// Two failures still end the process: a model that fails only on certain audio, and exhausted
// memory. Use this package only in a process that may die.
//
// The libraries come with the module github.com/k2-fsa/sherpa-onnx-go-linux and need no
// installation. They compute on the CPU. For CUDA, replace both by a GPU build; see ci/sherpa.sh.
package diarization
