// Package bounded reads files from outside in limited memory. Policies, scenarios, manifests and
// run.json files are small. A large one is the wrong file, or somebody made it to exhaust memory.
// Package bounded refuses it before reading it:
//
//	text, err := bounded.ReadFile("run.json", 8<<20) // reads at most 8 MiB and one byte
//
// [Lines] reads a list line by line. [Zstd] limits the memory for a compressed file by the file's
// size. Logs may have any length and are not read here; see package parser. A [Tail] keeps only the
// end of what a program prints.
package bounded
