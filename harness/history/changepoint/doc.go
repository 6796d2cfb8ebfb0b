// Package changepoint finds where the level of a series changed. A series has one value for each
// nightly run, in the order of the nights.
//
// A [Detector] judges every night in turn, as a gate does. What it says after a night depends
// only on the values up to that night. A change that it has found stays, unless later values take
// it back; they may also move its start a little. Each night it asks two questions:
//
//   - Do the newest 1 to 8 values lie outside of all earlier values of the level, and farther away
//     than their scatter explains? This finds a large step in the first night.
//   - Does any split of the newest 40, 80, 160 ... values differ in its two means by more than the
//     scatter explains? This finds a small step, once the new level has enough values. Values far
//     from the median are pulled towards it, so that one wild night neither makes nor hides a
//     change.
//
// Both are t tests. They differ from the usual practice in performance tests in three ways.
//
//   - The scatter is that of the values around the two levels, not around their common mean. So a
//     change does not hide itself, however long the series is.
//   - If each night resembles the night before it, the means of two spans differ more than those of
//     independent nights. The detector estimates that correlation from the values around their
//     levels, and allows for it. That needs 40 values. Shorter series in which nights resemble each
//     other give more false alarms.
//   - Each night is one more chance of a false alarm. So the p value that a change must reach falls
//     with the age of the level. The usual t test of the split that looks best gives a false alarm
//     in several of a hundred clean series, even if one in a thousand was asked for. The test
//     TestFalseAlarms shows both.
//
// The detector takes a change back in two cases only, and names it in [Detector.Gone]: the values
// return to the old level at once, or the values after the change show that the levels do not
// differ by more than the scatter.
package changepoint
