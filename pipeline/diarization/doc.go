// Package diarization finds who speaks when, and turns voices into embeddings, with sherpa-onnx.
//
//	config := diarization.Config{Segmentation: "segmentation.onnx", Embedding: "embedding.onnx"}
//	d, err := diarization.Open(config)
//	defer d.Close()
//	turns, err := d.Diarize(samples) // 16 kHz, mono
//
// A segmentation model (pyannote's, exported by sherpa-onnx) separates the speakers in windows of
// ten seconds. An embedding model (WeSpeaker, 3D-Speaker, NeMo) turns what each of them says into a
// vector. Clusters of vectors are the speakers of the whole recording. [OpenEmbedder] gives the
// vectors themselves.
//
// sherpa-onnx reports no errors: a model that it cannot use aborts the process, ends it, or
// corrupts its memory. So this package checks models before it loads them, with [Check] and once
// with ONNX Runtime itself ([Try]). It also checks audio. Some failures remain and end the process:
// a graph that fails on some audio only, or exhausted memory. Use this package in a process that
// may die.
//
// The libraries come with the module github.com/k2-fsa/sherpa-onnx-go-linux and need no
// installation. They compute on the CPU. For CUDA replace both by a GPU build, see ci/sherpa.sh.
package diarization
