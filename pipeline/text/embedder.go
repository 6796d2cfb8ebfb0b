package text

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"vramsoak/pipeline/onnx"
)

// A Pooling makes the embedding of a text from the embeddings of its tokens. A model works with the
// pooling with which it was trained: the file 1_Pooling/config.json in the folder of a model of
// sentence-transformers says which. A model with the output sentence_embedding pools itself.
type Pooling string

// The poolings that sentence models use.
const (
	Mean Pooling = "mean" // the mean of all tokens, such as all-MiniLM-L6-v2
	CLS  Pooling = "cls"  // the first token, [CLS], such as bge-small-en-v1.5
)

// Config configures an [Embedder].
type Config struct {
	Model      string // path of the model
	Vocabulary string // path of its vocabulary; "" means vocab.txt beside the model
	Pooling    Pooling
	Threads    int // threads on the CPU; 0 means 1
}

// VocabularyPath returns the path of the vocabulary.
func (c Config) VocabularyPath() string {
	return cmp.Or(c.Vocabulary, filepath.Join(filepath.Dir(c.Model), VocabularyName))
}

// An Embedder is a loaded model. It embeds one batch of texts at a time.
type Embedder struct {
	tokenizer  *Tokenizer
	session    *onnx.Session
	properties properties
	pooling    Pooling
}

// Open checks the model and loads it. The tokenizer is that of the model's vocabulary; see
// [ReadVocabulary]. Close the Embedder after use.
//
// The first time that a process opens a model, Open tries it on a text of [MaxTokens] tokens. The
// error may wrap [onnx.ErrOutOfMemory].
func Open(c Config, t *Tokenizer) (*Embedder, error) {
	p, err := inspect(c.Model)
	if err != nil {
		return nil, err
	}
	if err := p.checkWords(int64(t.size), c.Model, c.VocabularyPath()); err != nil {
		return nil, err
	}
	session, err := onnx.Open(c.Model, onnx.Options{Threads: c.Threads})
	if err != nil {
		return nil, advised(err)
	}
	e := &Embedder{t, session, p, c.Pooling}
	if err := onnx.Try(c.Model, e.try); err != nil {
		e.Close()
		return nil, advised(err)
	}
	return e, nil
}

// advised adds to the error for a wrong model where a right one comes from.
func advised(err error) error {
	if errors.Is(err, onnx.ErrOutOfMemory) {
		return err
	}
	return fmt.Errorf("%w\n%s", err, advice)
}

// Close frees the model. Do not use the Embedder afterwards; closing it again does nothing.
func (e *Embedder) Close() { e.session.Close() }

// try embeds the longest text, which contains the vocabulary's last word. The model fails if it has
// fewer positions or words.
func (e *Embedder) try() error {
	ids := slices.Repeat([]int64{int64(e.tokenizer.size) - 1}, MaxTokens)
	ids[0], ids[MaxTokens-1] = e.tokenizer.begin, e.tokenizer.end
	_, err := e.embed([][]int64{ids})
	return err
}

// Embed returns the embedding of each text: a vector of length 1. The cosine of the angle between
// two vectors, here their product, says how similar the texts are.
//
// The texts are one batch: they take the memory of as many texts as long as the longest. If Embed
// runs out of memory, its error wraps [onnx.ErrOutOfMemory].
func (e *Embedder) Embed(texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	tokens := make([][]int64, len(texts))
	for i, text := range texts {
		tokens[i] = e.tokenizer.Tokens(text)
	}
	return e.embed(tokens)
}

func (e *Embedder) embed(tokens [][]int64) (embeddings [][]float32, err error) {
	longest := 0
	for _, ids := range tokens {
		longest = max(longest, len(ids))
	}
	shape := []int64{int64(len(tokens)), int64(longest)}
	ids, mask := make([]int64, len(tokens)*longest), make([]int64, len(tokens)*longest)
	for i, row := range tokens {
		copy(ids[i*longest:], row)
		for j := range row {
			mask[i*longest+j] = 1
		}
	}
	inputs := []onnx.Input{
		{Name: idsInput, Shape: shape, Ints: ids},
		{Name: maskInput, Shape: shape, Ints: mask},
	}
	if e.properties.types {
		inputs = append(inputs, onnx.Input{
			Name: typesInput, Shape: shape, Ints: make([]int64, len(ids)),
		})
	}
	err = e.session.Run(inputs, e.properties.output, func(v onnx.Value, data []float32) error {
		width, err := e.width(v, len(tokens), longest)
		if err != nil {
			return err
		}
		each := len(data) / len(tokens) // numbers for a text
		for i, row := range tokens {
			embedding := e.pool(data[i*each:][:each], width, len(row))
			if err := normalize(embedding); err != nil {
				return fmt.Errorf("%s: output %q: %w", e.session.Path(), v.Name, err)
			}
			embeddings = append(embeddings, embedding)
		}
		return nil
	})
	return embeddings, err
}

// width checks the shape of an output for so many texts of so many tokens. It returns the length of
// an embedding.
func (e *Embedder) width(v onnx.Value, texts, tokens int) (int, error) {
	want := []int64{int64(texts), int64(tokens)}
	if len(v.Shape) == 2 {
		want = want[:1]
	}
	n := len(v.Shape) - 1
	if len(v.Shape) < 2 || !slices.Equal(v.Shape[:n], want) || v.Shape[n] < 1 {
		return 0, fmt.Errorf("%s: output %q: expected an embedding for each of %d texts, or for each "+
			"of their %d tokens, found the shape %v", e.session.Path(), v.Name, texts, tokens,
			v.Shape)
	}
	return int(v.Shape[n]), nil
}

// pool returns the embedding of a text. data is the text's part of an output: one embedding of the
// text itself, or one of each token. Tokens from the number n on are padding.
func (e *Embedder) pool(data []float32, width, n int) []float32 {
	embedding := slices.Clone(data[:width])
	if len(data) == width || e.pooling == CLS {
		return embedding
	}
	for i := range embedding {
		sum := 0.0
		for token := range n {
			sum += float64(data[token*width+i])
		}
		embedding[i] = float32(sum / float64(n))
	}
	return embedding
}

// normalize divides a vector by its length. A vector of zeros, such as of a text without a known
// word, stays as it is.
func normalize(v []float32) error {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if math.IsNaN(length) || math.IsInf(length, 0) {
		return fmt.Errorf("expected numbers, found an embedding of the length %g; export the model "+
			"anew, with 32-bit floats", length)
	}
	if length == 0 {
		return nil
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return nil
}
