// Package bounded reads files of outside origin in limited memory. A policy, a scenario, a manifest
// or a run.json is small. A large one is the wrong file, or was made to exhaust memory. It is
// refused before it is read:
//
//	text, err := bounded.ReadFile("run.json", 8<<20) // no more than 8 MiB and one byte are ever read
//
// Lists are read line by line. Compressed files are read with a window that fits their size. Logs
// may be of any length; see package parser. A [Tail] keeps the end of what a program prints.
package bounded
