package text

import (
	"fmt"
	"slices"

	"vramsoak/pipeline/onnx"
)

// The names of the inputs and outputs, as optimum has them.
const (
	idsInput   = "input_ids"
	maskInput  = "attention_mask" // 1 for a token, 0 behind the end of a text
	typesInput = "token_type_ids" // 0: there is one text; models without it are DistilBERT's

	wholeOutput = "sentence_embedding" // one embedding for a text
	stateOutput = "last_hidden_state"  // one for each token
)

// advice says where a model comes from.
const advice = "export a model of BERT's family with optimum, such as " +
	"sentence-transformers/all-MiniLM-L6-v2 or BAAI/bge-small-en-v1.5: " +
	"optimum-cli export onnx --model NAME --task feature-extraction DIR"

// properties are what the checks read from a model and its use needs.
type properties struct {
	types  bool   // the model has the input token_type_ids
	output string // the name of the output that is used
	words  int64  // words of the vocabulary; onnx.Free if unknown
}

// Check returns an error unless the file at path is a sentence model that [Open] can use. Check
// only reads the file. The error names every mistake, what was expected, and what to do.
func Check(path string) error {
	_, err := inspect(path)
	return err
}

// inspect checks the model file at path and returns the model's properties.
func inspect(path string) (p properties, err error) {
	err = onnx.Check(path, advice, func(c *onnx.Checked) { p = check(c) })
	return p, err
}

func check(c *onnx.Checked) (p properties) {
	for _, name := range []string{idsInput, maskInput} {
		if !slices.ContainsFunc(c.Inputs, func(v onnx.Value) bool { return v.Name == name }) {
			c.Wrong("inputs: expected %s, found none", name)
		}
	}
	for _, v := range c.Inputs {
		switch v.Name {
		case idsInput, maskInput, typesInput:
			p.types = p.types || v.Name == typesInput
			c.Tensor("input", v, onnx.Int64, onnx.Free, onnx.Free)
			if slices.ContainsFunc(v.Shape, func(n int64) bool { return n != onnx.Free }) {
				c.Wrong("input %q: expected texts of any number and length, found a fixed size; "+
					"export the model with dynamic axes", v.Name)
			}
		default:
			c.Wrong("inputs: expected %s, %s and perhaps %s, found %q", idsInput, maskInput,
				typesInput, v.Name)
		}
	}
	p.words = c.Rows(idsInput)
	if len(c.Outputs) == 0 {
		c.Wrong("outputs: expected %s or %s, found none", stateOutput, wholeOutput)
		return p
	}
	output := c.Outputs[0]
	for _, name := range []string{stateOutput, wholeOutput} { // the last that is there
		if i := slices.IndexFunc(c.Outputs, func(v onnx.Value) bool {
			return v.Name == name
		}); i >= 0 {
			output = c.Outputs[i]
		}
	}
	p.output = output.Name
	if output.HasShape && len(output.Shape) == 2 {
		c.Tensor("output", output, onnx.Float, onnx.Free, onnx.Free)
	} else {
		c.Tensor("output", output, onnx.Float, onnx.Free, onnx.Free, onnx.Free)
	}
	return p
}

// checkWords returns an error unless a vocabulary of that many words can be the model's. A model
// may have some embeddings more than words, for alignment.
func (p properties) checkWords(words int64, model, vocabulary string) error {
	const spare = 1000
	if p.words == onnx.Free || words <= p.words && p.words < words+spare {
		return nil
	}
	return fmt.Errorf("%s: expected the vocabulary of %s, which has %d words, found %d words; give "+
		"the %s that came with the model", vocabulary, model, p.words, words, VocabularyName)
}
