// Package speakers says who spoke when: turns of speakers, and the words that were said in them.
//
// A diarization gives [Turn]s. Nothing here knows an engine.
package speakers
