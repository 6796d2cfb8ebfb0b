// Package speakers says who spoke when, and who said what.
//
// A diarization gives [Turn]s, a transcription [Segment]s with [Word]s. Together they are a
// transcript with speakers:
//
//	segments := speakers.Align(transcript.Segments, turns) // cut where the speaker changes
//	err := speakers.WriteVTT(w, segments)                  // or WriteSRT; the turns as WriteRTTM
//
// [Voices] names speakers alike in all audio of a batch. Where it is known who speaks, [Compare]
// gives the diarization error rate and [Attribute] the share of words that have the right speaker.
//
// Nothing here knows an engine.
package speakers
