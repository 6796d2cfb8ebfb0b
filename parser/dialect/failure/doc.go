// Package failure reads how allocations fail and how programs die, whichever program prints it.
//
// [OutOfMemory] reads an allocation that failed on a device. [Crash] reads tracebacks, signals
// and aborts. Both look for common words. So most of the package distinguishes a failure from
// other text with the same words: advice, program source, a count of 0 errors, a transcript.
package failure
