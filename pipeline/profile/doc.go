// Package profile learns from a soak what the stages of a pipeline take, so that a prediction need
// not be estimated:
//
//	p, err := profile.Learn(tl)              // of parser.Build(...) on RUN/soak.log
//	err = p.Write(w)                         // profile.yaml
//	p, err = profile.Read(src, "profile.yaml")
//	for _, c := range p.Apply(s) { ... }     // a scenario's stages now have measured footprints; c: measured or estimated
//
// Of each stage, in each file that ended well, the peak above the level at the stage's start is
// read from its checkpoints and, where the lines have it, from peak=. Over the files, peak = base +
// per second * length is fitted after Theil (1950) and Sen (1968): the slope is the median of the
// slopes between all pairs of files, so that a file out of line does not move it. Where the lengths
// hardly differ there is no slope to be had, and the profile says so. Spread is how far the highest
// file lies above the line; what is applied to a scenario includes it, since a batch fails by its
// worst file.
package profile
