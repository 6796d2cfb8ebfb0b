// Package serving reads what inference servers and engines print: vLLM, SGLang, llama.cpp and
// whisper.cpp (ggml), ollama, ComfyUI and Forge, TensorRT and TensorRT-LLM, Unsloth. They print the
// size of each buffer, and the levels of a device when they start.
//
// [HeldBuffer] says which of these buffers a program holds at the same time.
package serving
