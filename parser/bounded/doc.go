// Package bounded reads files from outside in limited memory. Policies, scenarios, manifests and
// run.json files are small. A large file in place of one of these is the wrong file, or somebody
// made it to exhaust memory. Package bounded refuses to read a large file:
//
//	text, err := bounded.ReadFile("run.json", 8<<20) // reads at most 8 MiB and one byte
//
// [Lines] reads a list line by line. [Zstd] limits the memory for decompressing a file by the
// file's size. A [Tail] keeps only the end of what a program prints. Package parser reads logs,
// which may have any length.
package bounded
