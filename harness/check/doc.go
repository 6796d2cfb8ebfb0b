// Package check judges a timeline: did each cleanup give its memory back, does anything grow over the files (the idle level,
// what is reserved and unused, what the allocator does not see, stages, times), was the card big enough, did every file end well.
//
//	report := check.Of(timeline, check.DefaultPolicy())
//
// A verdict is pass or fail only where it holds for every value that the log's printed digits allow; what the log cannot
// tell is undecided, and what it gives no reading for is skipped, with the reason. No data is never a pass.
package check
