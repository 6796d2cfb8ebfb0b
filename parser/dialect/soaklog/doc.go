// Package soaklog reads the harness's lines in a soak.log, and the lines in which a pipeline
// names its files. A pipeline may print a line that looks like the harness's. The harness writes
// a quote before such a line, see [record.QuoteLine], and package soaklog does not count it as
// the harness's.
package soaklog
