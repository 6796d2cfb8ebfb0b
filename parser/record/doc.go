// Package record defines what a log can say: memory readings at named places ([Checkpoint]), failed
// allocations, events, warnings, and the harness's own lines. It imports no other package of ours.
//
// A [Record] is a value with a [Header], which holds its line and the time that the line gives. A
// [Reading] holds the quantities of one line ([Quantity]: allocated, reserved, ...). Each is a
// [Size]: whole bytes, and the resolution of the printed digits. "7.23 GB" is 7,763,153,387 bytes,
// give or take 5,368,709.
//
// The methods named AppendLine write the lines that the harness and our own pipelines print.
package record
