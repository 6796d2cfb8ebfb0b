// Package validation answers whether the memory of a card suffices for a batch. If it does not, the
// package searches for the smallest change of the scenario file with which it does.
//
// A change is one or two edits of the scenario file. Before the package proposes a change, it makes
// the edits in the text of the file, reads and lints the new text, and simulates it over all files:
//
//	report, err := batch.Validate(validation.Evidence{})
//
// The smallest change is the cheapest; [Kind] lists the kinds of changes by cost.
package validation
