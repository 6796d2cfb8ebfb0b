package scan

import (
	"slices"
	"strings"

	"vramsoak/parser/record"
)

// namesAnother reports whether a fallback's text names a failure other than a lack of memory, such
// as "no kernel image" here:
//
//	GPU loading failed, falling back to CPU: no kernel image
func namesAnother(text string) bool {
	_, rest, _ := strings.Cut(text, " failed, falling back to ")
	_, reason, ok := strings.Cut(rest, ": ")
	reason = strings.ToLower(reason)
	ofMemory := func(word string) bool { return strings.Contains(reason, word) }
	return ok && !slices.ContainsFunc([]string{"memory", "oom", "alloc"}, ofMemory)
}

// failedToo reports whether a fallback's text says that the fallback itself failed:
//
//	Batch processing failed, falling back to sequential failed: CUDA error: out of memory
func failedToo(text string) bool {
	_, way, _ := strings.Cut(strings.ToLower(text), "falling back to ")
	way, _, _ = strings.Cut(way, ":")
	return strings.HasSuffix(way, " failed") || strings.Contains(way, " failed ")
}

// nameFailures looks for fallbacks and failed allocations among the entries of one line. If two of
// them belong together, it sets NamesFailure of the fallback and NamesFallback of the failure. They
// belong together if they have the same text, or if the failure is the first one behind the
// fallback.
func nameFailures(entries []Entry) {
	for i := range entries {
		event, ok := entries[i].Other.(record.Event)
		if !ok || event.Kind != record.EventFallback || len(entries) == 1 || failedToo(event.Text) {
			continue
		}
		for k := max(0, i-1); k < len(entries); k++ {
			o, ok := entries[k].Other.(record.OutOfMemory)
			if ok && o.Pos.Line == event.Pos.Line && (k > i || o.Text == event.Text) {
				o.NamesFallback, event.NamesFailure = true, true
				entries[k].Other, entries[i].Other = o, event
				break
			}
		}
	}
}
