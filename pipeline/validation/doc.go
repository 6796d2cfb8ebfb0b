// Package validation decides whether a batch fits into the memory of a card. If the batch does not
// fit, the package searches for the smallest change of the scenario file with which the batch fits.
//
// Before the package proposes a change, it edits the text of the scenario file, reads and lints the
// new text, and simulates the new scenario over all files:
//
//	report, err := batch.Validate(validation.Evidence{})
//
// The smallest change is the cheapest one. [Kind] lists the kinds of changes by cost.
package validation
