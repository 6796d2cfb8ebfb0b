// Package reports is the parent of the packages that show a judged run to people, CI systems and
// other programs. It has no code of its own. Each kind of report has a package:
//
//	text       sentences and tables for terminals and log files, of every command
//	html       one HTML page with the verdict, charts and lines of the log
//	plots      PNG, SVG and PDF: over time, over files, over runs, of two runs, of fragmentation
//	junit      junit.xml for a CI system's test view
//	cilog      annotations and groups of lines in the log of a GitHub or GitLab job
//	markdown   summaries for CI jobs and comments
//	jsondoc    JSON documents that are written item by item
//	records    the records of a log as a table, as JSON lines or as CSV
//	pprof      memory snapshots for go tool pprof
//	export     events over time, with a package for each format: perfetto, openmetrics
//	serve      the report and the live metrics of a soak, over HTTP
//
// These packages share four others: wording (counts, sizes, headlines), pattern (the memory of a
// typical file), metrics (names for Prometheus) and sink (which makes names and other text from
// outside safe to print).
//
//	text.Report(os.Stdout, timeline, report, text.Options{Terminal: true, Width: 100})
//	junit.Write(w, timeline, report)
//	markdown.Report(w, timeline, report)
//	overruns.Plot(w, "png", history, series, changes, drifts, plots.Options{})
//
// The same input always gives the same bytes. A report judges nothing: package harness/check makes
// the findings.
package reports
