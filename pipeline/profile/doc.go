// Package profile learns from the log of a soak how much memory each stage of a pipeline takes, so
// that predictions can use measurements instead of estimates:
//
//	p, err := profile.Learn(tl)              // of parser.Build(...) on RUN/soak.log
//	err = p.Write(w)                         // profile.yaml
//	p, err = profile.Read(src, "profile.yaml")
//	for _, c := range p.Apply(s) { ... }     // s now has measured footprints
//
// For each stage and file, the package takes the stage's peak: the highest memory above the memory
// at the stage's start. It comes from the checkpoints, and from their peak= if they have it. Only
// files with status ok count. Then the package fits the line peak = base + per second * length to
// the files, after Theil (1950) and Sen (1968): the slope is the median of the slopes between all
// pairs of files, so an outlier does not change it. If the lengths hardly differ, the line has no
// slope, and the profile says so. The spread is the distance of the highest file above the line.
// Apply adds the spread to the prediction, because the worst file decides whether a batch fails.
package profile
