// Package bounded reads files that others wrote within bounds of memory. A policy, a scenario, a
// manifest or a run.json is small. A large one is the wrong file, or was made to exhaust memory,
// and is refused before it is read:
//
//	text, err := bounded.ReadFile("run.json", 8<<20) // no more than 8 MiB and one byte are ever read
//
// Lists are read line by line, and compressed files within a window that fits their size. Logs are
// of any length; see package parser.
package bounded
