// Package changepoint finds where the level of a series of values changed: one value a night, in the order of the nights.
//
//	changepoint.Find([]float64{5, 6, 5, 5, 6, 5, 6, 5, 9, 8, 9, 9, 8, 9, 8, 9}, 0.001)  // [8]
//
// [Find] is binary segmentation, as E-divisive is (Matteson and James 2014, "A nonparametric approach for multiple change
// point analysis of multivariate data", JASA 109): the best split of a series is tested, and where it is significant both
// parts are searched in turn. Three things differ from what performance tests commonly run under that name.
//
//   - The best of all splits is compared with the best of all splits of the same values in random order, not with one split
//     that was fixed in advance. A t test of the split that was chosen because it looks best gives a false alarm in several
//     of a hundred clean series where one of a thousand was asked for (TestFalseAlarms shows both).
//   - Splits are looked for in the whole series and in seeded intervals of it (Kovács, Bühlmann, Li and Munk 2023, "Seeded
//     binary segmentation", Biometrika 110), so that a rise that was mended later is seen. In the whole series the two
//     changes hide each other.
//   - Values far from the median are drawn towards it, so that one wild night hides nothing.
//
// The random orders are drawn from a seed that the values make: the same values give the same changes. A test of that kind
// assumes of the noise only that its order means nothing. Where a night resembles the night before it, blocks of nights are
// put into random order instead, once there are enough to tell; in shorter series false alarms are more frequent then.
//
// Random orders cannot be surprised by a level that has lasted for two nights. [Recent] looks at the end of a series with a
// t test, which assumes more and needs fewer values.
package changepoint
