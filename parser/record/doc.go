// Package record is what a log can say: memory readings at named places ([Checkpoint]), failed
// allocations, events, warnings, and the harness's own lines. It imports nothing of ours.
//
// A [Record] is a value with a [Header]: the line it was read from, and the time that the line gives.
// A [Reading] holds the quantities of one line ([Quantity]: allocated, reserved, ...) as a [Size] each:
// whole bytes, and the resolution of the digits that were printed. "7.23 GB" is 7,763,153,387 bytes, give
// or take 5,368,709.
//
// The lines that the harness and our own pipelines print are written here too, see AppendLine.
package record
