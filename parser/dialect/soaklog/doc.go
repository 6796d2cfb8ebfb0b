// Package soaklog reads the lines of the harness in a soak.log, and those by which a pipeline names its
// files. Only the harness speaks for the harness: a line that a pipeline prints in its name is told from
// the harness's own by the quote before it, see [record.QuoteLine].
package soaklog
