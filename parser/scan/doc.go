// Package scan is the engine: it goes through the windows of a log, offers each line that has a
// needle to the dialects that asked for it, and collects the records that they read.
//
// A [Dialect] has a name, the needles that its lines have, and a function that reads a [Line].
// Windows are scanned by several workers ([Batches]); what comes out is what reading line after
// line gives.
package scan
