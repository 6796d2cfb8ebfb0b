// Package validation answers whether a batch survives on a card, and if it does not, finds the
// smallest change with which it does.
//
// A change is one or two edits of the scenario file. Each is made in the file's text, read anew
// with all that the linter has to say, and simulated over all files before it is proposed:
//
//	report, err := batch.Validate(validation.Evidence{})
//
// The smallest is the one that costs least; [Kind] has the order.
package validation
