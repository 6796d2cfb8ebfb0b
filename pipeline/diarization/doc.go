// Package diarization tells who speaks when, and what a voice is like, with sherpa-onnx.
//
//	d, err := diarization.Open(diarization.Config{Segmentation: "segmentation.onnx", Embedding: "embedding.onnx", Threads: 2})
//	defer d.Close()
//	turns, err := d.Diarize(samples) // 16 kHz, mono
//
// A segmentation model (pyannote's, by sherpa-onnx's export) tells the speakers of ten seconds
// apart, window by window; an embedding model (WeSpeaker, 3D-Speaker, NeMo) turns what each of them
// says into a vector; clusters of vectors are the speakers of the whole. [OpenEmbedder] gives the
// vectors themselves.
//
// sherpa-onnx reports no errors: a model that it cannot use aborts the process, ends it, or
// corrupts its memory. So models are checked before they are loaded ([Check]; the first time also
// by ONNX Runtime itself, [Try]), and audio before it is handed over. What neither sees (a graph
// that fails on some audio only, memory that is used up) still ends the process: whoever uses this
// package does so in a process that may die.
//
// The libraries come with the module github.com/k2-fsa/sherpa-onnx-go-linux and need no
// installation. They compute on the CPU; for CUDA a GPU build of both takes their place, see
// ci/sherpa.sh.
package diarization
