// Package record defines the records of a log: memory readings at named points of a program
// ([Checkpoint]), failed allocations, events, warnings, and the harness's own lines. It imports
// no other package of vramsoak.
//
// A [Record] has a [Header] with its line's position in the log and the time that the line gives.
// A [Reading] holds the quantities of one line ([Quantity]: allocated, reserved, ...). Each
// quantity is a [Size]: whole bytes, and the resolution of the printed digits. For example, "7.23
// GB" is 7,763,153,387 bytes, give or take 5,368,709.
//
// The methods named AppendLine write the log lines of the harness and of vramsoak's own
// pipelines.
package record
