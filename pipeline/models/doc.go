// Package models knows what models hold on a GPU: weights as their real tensors, activations as functions of the input.
//
//	m, err := models.Lookup("openai/whisper-large-v3")
//	m.Weights(models.Float16)                                      // 3,086,981,120 bytes
//	m.Forward(models.Input{Batch: 4, Beams: 5}, models.Float16)    // the tensors of one pass and how long each lives
package models
