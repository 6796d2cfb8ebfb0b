// Package speakers says who spoke when, and who said what.
//
// A diarization gives [Turn]s, a transcription [Segment]s with [Word]s. Together they are a
// transcript with speakers:
//
//	segments := speakers.Align(transcript.Segments, turns) // cut where the speaker changes
//	err := speakers.WriteVTT(w, segments)                  // or WriteSRT; the turns as WriteRTTM
//
// [Voices] gives a speaker the same name in all audio of a batch. If the true speakers are known,
// [Compare] gives the diarization error rate and [Attribute] the share of words with the right
// speaker.
//
// This package runs no engine.
package speakers
