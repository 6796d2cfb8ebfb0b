// Package speakers adds speakers to a transcript, from the turns of a diarization, and measures how
// many errors these speakers have.
//
// A diarization returns [Turn]s: who speaks when. A transcription returns [Segment]s with [Word]s.
// [Align] combines them to a transcript with speakers:
//
//	segments := speakers.Align(transcript.Segments, turns) // cut where the speaker changes
//	err := speakers.WriteVTT(w, segments)                  // or WriteSRT; the turns as WriteRTTM
//
// [Voices] gives a speaker the same name in all audio of a batch. If the true speakers are known,
// [Compare] returns the diarization error rate, and [Attribute] counts the words with the right
// speaker.
//
// This package runs no speech engine; packages diarization and whisper do.
package speakers
