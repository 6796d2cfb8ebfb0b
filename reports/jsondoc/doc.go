// Package jsondoc writes the JSON documents that are too long to hold in memory: comparisons of two
// runs and analyses of memory snapshots. The JSON of a verdict is check.Report's own.
package jsondoc

import (
	"iter"
)

// items yields pointers to the items of a list, for [sink.List].
func items[T any](list []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}
