// Package reports shows a judged timeline to people and to CI systems.
//
//	reports.Text(os.Stdout, tl, rep, reports.TextOptions{Terminal: true, Width: 100, Color: true})
//	reports.JUnit(w, tl, rep)         // for a CI system's test view
//	reports.Markdown(w, tl, rep)      // for a job summary or a comment
//	reports.ComparisonText(os.Stdout, c, verdict, opts) // of two runs
//	reports.Trend(os.Stdout, h, series, changes, opts)  // of many; reports.Gate is whether they got worse
//	reports.CalibrationText(os.Stdout, calibration, opts)
//	reports.Plot(w, "png", tl, rep, reports.PlotOptions{})
//	reports.PlotOverFiles(w, "png", rep, reports.PlotOptions{}) // and reports.TrendPlot over runs
//
// Every report is a pure function of the timeline and the judgement: the same input gives the same bytes. None of them
// judges; what they mark as failed, harness/check found. The JSON form is check.Report's own.
//
// Names come from logs, which anybody may write: they go through package sink.
package reports
