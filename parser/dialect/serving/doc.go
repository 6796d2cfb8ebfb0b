// Package serving reads what inference servers and engines print: vLLM, SGLang, llama.cpp and
// whisper.cpp (ggml), ollama, ComfyUI and Forge, TensorRT and TensorRT-LLM, Unsloth. They name
// their buffers, and the levels of a device as they start.
package serving
