// Package speakers finds who said each word of a transcript, and measures how many errors it makes.
//
// A diarization returns [Turn]s: who speaks when. A transcription returns [Segment]s with [Word]s.
// [Align] combines the two into a transcript with speakers:
//
//	segments := speakers.Align(transcript.Segments, turns) // cut where the speaker changes
//	err := speakers.WriteVTT(w, segments)                  // or WriteSRT; WriteRTTM writes turns
//
// [Voices] gives a speaker the same name in all audio of a batch. If a reference gives the true
// speakers, [Compare] returns the diarization error rate, and [Attribute] counts the words with the
// right speaker.
//
// This package runs no speech engine; packages diarization and whisper do.
package speakers
