// Package text turns texts into embeddings: vectors that are similar for texts of similar meaning.
//
//	e, err := text.Open(text.Config{Model: "all-MiniLM-L6-v2/model.onnx"})
//	defer e.Close()
//	embeddings, err := e.Embed([]string{"The cat sits on the mat.", "A cat is sitting."})
//
// It runs sentence models of BERT's family in ONNX Runtime, as optimum exports them, on the CPU. A
// [Tokenizer] splits the texts into the words and parts of words that the model knows (WordPiece).
package text
