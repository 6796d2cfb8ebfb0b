// Package dialect knows how programs print their memory, with one dialect for each program.
//
// A program that prints lines is an entry of programs.yaml, which package table reads. A program
// that prints blocks or tables is a file of Go, here or in one of these folders:
//
//	smi       the tools of GPU drivers: nvidia-smi, dmon, gpustat, rocm-smi
//	serving   inference servers and engines: vLLM, SGLang, llama.cpp, ollama, TensorRT
//	failure   allocations that failed and programs that died, in the words of every library
//	soaklog   the lines of the harness and of [pipeline]
//
// In these files, a function named read... is called at a needle: a fixed text of the dialect
// that was found in a line, at the offset `at`. The function adds the records that it finds
// around the needle, and returns the offset behind what it read. It returns 0 if the line is not
// of this program. See [scan.Dialect].
//
// Package dialecttest is for the tests of all these packages. Users add their own entries with
// --dialect-file ([User]).
package dialect
