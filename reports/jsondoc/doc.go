// Package jsondoc writes the JSON documents that may be too long to hold in memory: comparisons of
// two runs, and analyses of memory snapshots. The JSON of a verdict is the encoding of
// check.Report.
package jsondoc

import (
	"iter"
)

// items yields a pointer to each item of a list, for [sink.List].
func items[T any](list []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}
