// Package changepoint finds where the level of a series changed. A series has one value for each
// nightly run, in the order of the nights.
//
//	changepoint.Find([]float64{5, 6, 5, 5, 6, 5, 6, 5, 9, 8, 9, 9, 8, 9, 8, 9}, 0.001)  // [8]
//
// [Find] uses binary segmentation, as E-divisive does (Matteson and James 2014, "A nonparametric
// approach for multiple change point analysis of multivariate data", JASA 109). It tests the best
// split of a series. If the split is significant, Find searches the two parts in the same way. Find
// differs from the usual practice in performance tests in three ways.
//
//   - Find compares the best of all splits with the best of all splits of the same values in random
//     order. The usual practice compares it with one split that was fixed in advance. A t test of
//     the split that looks best gives false alarms in several of a hundred clean series, even if
//     one in a thousand was asked for. TestFalseAlarms shows both.
//   - Find searches for splits in the whole series and in seeded intervals of it (Kovács, Bühlmann,
//     Li and Munk 2023, "Seeded binary segmentation", Biometrika 110). Thus it finds a rise that
//     was fixed later. In the whole series the rise and the fall hide each other.
//   - Find pulls values far from the median towards it, so that one wild night hides nothing.
//
// The seed of the random orders is computed from the values, so the same values give the same
// changes. The test assumes only that noise comes in no particular order. If each night resembles
// the night before it, the test shuffles blocks of nights instead of single nights. Blocks need at
// least 100 nights. Shorter series in which nights resemble each other give more false alarms.
//
// A test by random orders needs more than one or two nights at the new level. [Recent] therefore
// tests the end of a series with a t test, which needs fewer values but assumes normal noise.
package changepoint
