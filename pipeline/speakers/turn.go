package speakers

// A Turn is a stretch in which one speaker speaks. Times are seconds from the start of the audio.
// Turns of different speakers may overlap.
type Turn struct {
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Speaker string  `json:"speaker"`
}

// Seconds returns how long the turn lasts, in seconds.
func (t Turn) Seconds() float64 { return t.End - t.Start }

// Count returns how many different speakers the turns have.
func Count(turns []Turn) int {
	seen := map[string]bool{}
	for _, t := range turns {
		seen[t.Speaker] = true
	}
	return len(seen)
}
