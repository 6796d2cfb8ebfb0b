package models_test

import (
	"fmt"

	"vramsoak/pipeline/models"
)

// Example answers a question: which Whisper models fit on a card of 8 GiB, if 4 GiB are in use,
// with five beams and float16?
func Example() {
	const room = 4 << 30
	for _, name := range models.Family("whisper") {
		m, err := models.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		need := m.Weights(models.Float16) +
			models.Peak(m.Forward(models.Input{Batch: 1, Beams: 5, Tokens: 224}, models.Float16))
		fmt.Printf("%-22s %v\n", name, need <= room)
	}
	// Output:
	// whisper-tiny           true
	// whisper-base           true
	// whisper-small          true
	// whisper-medium         true
	// whisper-large-v3-turbo true
	// whisper-large-v1       false
	// whisper-large-v2       false
	// whisper-large-v3       false
}
