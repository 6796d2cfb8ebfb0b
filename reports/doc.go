// Package reports holds the rooms that show a judged run to people, to CI systems and to other
// programs. It has no code of its own. Each form has a package:
//
//	text       tables and sentences for terminals and log files, of every command
//	plots      PNG, SVG and PDF: over time, over files, over runs, and of fragmentation
//	junit      junit.xml for a CI system's test view
//	markdown   summaries for CI jobs and comments
//	jsondoc    JSON documents that are written item by item
//	records    the records of a log as a table, as JSON lines or as CSV
//	pprof      memory snapshots for go tool pprof
//
// They share three packages: wording (counts, sizes, headlines), pattern (the memory of a typical
// file) and sink (text of outside origin, made safe for the place where it is written).
//
//	text.Report(os.Stdout, timeline, report, text.Options{Terminal: true, Width: 100})
//	junit.Write(w, timeline, report)
//	markdown.Report(w, timeline, report)
//	overruns.Plot(w, "png", history, series, changes, plots.Options{})
//
// Every report is a pure function of what it is given: the same input gives the same bytes. No
// report judges. The findings are harness/check's.
package reports
