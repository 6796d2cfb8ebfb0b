// Package soaklog reads the harness's lines in a soak.log, and the lines in which a pipeline names
// its files. Only the harness speaks for the harness. A quote precedes each line that the pipeline
// printed and that looks like the harness's, see [record.QuoteLine].
package soaklog
