package scan

import (
	"slices"
	"strings"
)

// namesAnother reports whether the words on a fallback name a failure that is not one of memory:
//
//	GPU loading failed, falling back to CPU: no kernel image
func namesAnother(text string) bool {
	_, rest, _ := strings.Cut(text, " failed, falling back to ")
	_, reason, ok := strings.Cut(rest, ": ")
	reason = strings.ToLower(reason)
	ofMemory := func(word string) bool { return strings.Contains(reason, word) }
	return ok && !slices.ContainsFunc([]string{"memory", "oom", "alloc"}, ofMemory)
}

// failedToo reports whether the words on a fallback say that it failed:
//
//	Batch processing failed, falling back to sequential failed: CUDA error: out of memory
func failedToo(text string) bool {
	_, way, _ := strings.Cut(strings.ToLower(text), "falling back to ")
	way, _, _ = strings.Cut(way, ":")
	return strings.HasSuffix(way, " failed") || strings.Contains(way, " failed ")
}
