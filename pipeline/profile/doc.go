// Package profile learns from a soak how much memory the stages of a pipeline take. Predictions
// then need no estimates:
//
//	p, err := profile.Learn(tl)              // of parser.Build(...) on RUN/soak.log
//	err = p.Write(w)                         // profile.yaml
//	p, err = profile.Read(src, "profile.yaml")
//	for _, c := range p.Apply(s) { ... }     // s now has measured footprints
//
// For each stage it takes the peak above the level at the stage's start, from the checkpoints and,
// if the lines have it, from peak=. Only files that ended well count. Over the files it fits peak =
// base + per second * length after Theil (1950) and Sen (1968): the slope is the median of the
// slopes between all pairs of files, so an outlier does not move it. If the lengths hardly differ
// there is no slope, and the profile says so. Spread is how far the highest file lies above the
// line. Apply includes the spread, because the worst file decides whether a batch fails.
package profile
