package text

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/fixtures"
	"vramsoak/fixtures/onnxfile"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/onnx"
)

// models is a folder with the tiny models, which TestMain creates.
var models string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "text")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := fixtures.WriteTextModels(dir, 1); err != nil {
			panic(err)
		}
		models = dir
		return m.Run()
	}())
}

func open(t *testing.T, c Config) *Embedder {
	t.Helper()
	tokenizer, err := ReadVocabulary(c.VocabularyPath())
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(c, tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func embed(t *testing.T, e *Embedder, texts ...string) [][]float32 {
	t.Helper()
	embeddings, err := e.Embed(texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(embeddings) != len(texts) {
		t.Fatalf("%d embeddings of %d texts", len(embeddings), len(texts))
	}
	return embeddings
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestEmbedSimilarTexts: with both kinds of output, similar texts are closer than different ones,
// and a text's embedding depends neither on its capitals nor on the other texts of the batch.
func TestEmbedSimilarTexts(t *testing.T) {
	for name, dim := range map[string]int{fixtures.TextName: 384, fixtures.TextFastName: 128} {
		e := open(t, Config{Model: filepath.Join(models, name), Pooling: Mean})
		v := embed(t, e, "The cat sits on the mat.", "the cat sat on a mat", "Quarterly revenue grew.",
			"THE CAT SITS ON THE MAT.", "", strings.Repeat("a long text without end ", 500))
		for i, embedding := range v[:4] {
			if length := product(embedding, embedding); len(embedding) != dim ||
				math.Abs(length-1) > 1e-5 {
				t.Errorf("%s: text %d: %d numbers, the square of the length is %g", name, i,
					len(embedding), length)
			}
		}
		near, far := product(v[0], v[1]), product(v[0], v[2])
		if near < far+0.2 {
			t.Errorf("%s: similar texts %.3f, different ones %.3f", name, near, far)
		}
		if same := product(v[0], v[3]); same < 0.9999 {
			t.Errorf("%s: the same text in capitals: %.5f", name, same)
		}
		if alone := embed(t, e, "The cat sits on the mat.")[0]; cmp.Diff(v[0], alone,
			cmpopts.EquateApprox(0, 1e-5)) != "" {
			t.Errorf("%s: in a batch the embedding is another: %.5f", name, product(v[0], alone))
		}
		if diff := cmp.Diff(make([]float32, dim), v[4]); diff != "" {
			t.Errorf("%s: a text without a word:\n%s", name, diff)
		}
	}
}

// table writes a model that looks up the embeddings of the words in a table. change may add to it
// and returns the name of the output.
func table(t *testing.T, rows [][]float32, inputs []string,
	change func(*onnxfile.Graph) string,
) string {
	t.Helper()
	g := &onnxfile.Graph{Name: "table"}
	var values []float32
	for _, row := range rows {
		values = append(values, row...)
	}
	g.Floats("rows", values, len(rows), len(rows[0]))
	for _, input := range inputs {
		g.Input(input, onnxfile.Int64, "batch_size", "sequence_length")
	}
	g.Node("Gather", "words", nil, "rows", "input_ids")
	output := "words"
	if change != nil {
		output = change(g)
	}
	g.Output(output, onnxfile.Float, "batch_size", "sequence_length", len(rows[0]))
	return save(t, g.Model())
}

func save(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// The inputs of BERT.
var bert = []string{"input_ids", "attention_mask", "token_type_ids"}

// TestPooling: the embedding is the mean of a text's tokens without padding, or the first token, of
// length 1. The numbers are computed by hand.
func TestPooling(t *testing.T) {
	tokenizer := vocabularyOf(t, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b")
	path := table(t, [][]float32{{100, -7}, {50, 50}, {1, 0}, {0, 1}, {3, 4}, {-1, 5}}, bert, nil)
	for pooling, want := range map[Pooling][][]float32{
		// "a": [CLS] a [SEP], (1+3+0, 0+4+1), so (4, 5)/√41. "b a b": (1-1+3-1+0, 0+5+4+5+1), so
		// (2, 15)/√229.
		Mean: {{0.624695, 0.780869}, {0.132164, 0.991228}},
		CLS:  {{1, 0}, {1, 0}},
	} {
		e, err := Open(Config{Model: path, Vocabulary: "v", Pooling: pooling}, tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if diff := cmp.Diff(want, embed(t, e, "a", "b a b"), cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Errorf("%s:\n%s", pooling, diff)
		}
	}
}

func TestEmbedNothing(t *testing.T) {
	e := open(t, Config{Model: filepath.Join(models, fixtures.TextName), Pooling: Mean})
	if v, err := e.Embed(nil); err != nil || len(v) != 0 {
		t.Errorf("found %v, %v", v, err)
	}
}

// TestOpenRefuses: a wrong model is an error before it is used, which says what to do.
func TestOpenRefuses(t *testing.T) {
	rows := [][]float32{{0, 0}, {0, 0}, {1, 0}, {0, 1}, {3, 4}}
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"}
	voices := t.TempDir()
	if err := fixtures.WriteDiarizationModels(voices, fixtures.DiarizationSpec{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	output := func(declare func(g *onnxfile.Graph)) string {
		g := &onnxfile.Graph{Name: "other"}
		g.Floats("rows", []float32{1, 2, 3, 4, 5}, 5, 1)
		for _, input := range bert {
			g.Input(input, onnxfile.Int64, "batch_size", "sequence_length")
		}
		g.Node("Gather", "words", nil, "rows", "input_ids")
		declare(g)
		return save(t, g.Model())
	}
	node := func(op, name string, inputs ...string) func(*onnxfile.Graph) string {
		return func(g *onnxfile.Graph) string {
			g.Node(op, name, nil, inputs...)
			return name
		}
	}
	for _, test := range []struct {
		name, path, want string
		words            []string
	}{
		{
			"a model of voices", filepath.Join(voices, fixtures.EmbeddingName),
			"inputs: expected input_ids, found none\ninputs: expected attention_mask, found none\n" +
				`inputs: expected input_ids, attention_mask and perhaps token_type_ids, found "feats"`,
			words,
		},
		{
			"no mask", table(t, rows, bert[:1], nil), "inputs: expected attention_mask, found none",
			words,
		},
		{
			"one input more", table(t, rows, append(bert[:3:3], "position_ids"), nil),
			`expected input_ids, attention_mask and perhaps token_type_ids, found "position_ids"`, words,
		},
		{"inputs of 32 bits", output(func(g *onnxfile.Graph) {
			g.Input("more", onnxfile.Int32, "batch_size")
			g.Output("words", onnxfile.Float, "batch_size", "sequence_length", 1)
		}), `found "more"`, words},
		{"a fixed length", func() string {
			g := &onnxfile.Graph{Name: "fixed"}
			g.Floats("rows", []float32{1, 2, 3, 4, 5}, 5, 1)
			g.Input("input_ids", onnxfile.Int64, 1, 128)
			g.Input("attention_mask", onnxfile.Int32, "batch_size", "sequence_length")
			g.Node("Gather", "words", nil, "rows", "input_ids")
			g.Output("words", onnxfile.Float, 1, 128, 1)
			return save(t, g.Model())
		}(), `input "input_ids": expected texts of any number and length, found a fixed size; export ` +
			"the model with dynamic axes\n" +
			`input "attention_mask": expected elements of type int64, found 6`, words},
		{"an output of ints", output(func(g *onnxfile.Graph) {
			g.Output("input_ids", onnxfile.Int64, "batch_size", "sequence_length", 1)
		}), `output "input_ids": expected elements of type float, found int64`, words},
		{
			"an output for a class", output(func(g *onnxfile.Graph) {
				g.Output("words", onnxfile.Float, "batch_size")
			}), `output "words": expected the shape [*, *, *], found [*]`, words,
		},
		{"no output", output(func(*onnxfile.Graph) {}), "outputs: expected last_hidden_state or " +
			"sentence_embedding, found none", words},
		{
			"a shape that the file does not say", output(func(g *onnxfile.Graph) {
				g.Node("ReduceSum", "sentence_embedding", onnxfile.Attributes{
					onnxfile.Int("keepdims", 0),
				}, "words")
				g.Output("sentence_embedding", onnxfile.Float, "batch_size", 1)
			}), `output "sentence_embedding": expected an embedding for each of 1 texts, or for each of ` +
				"their 512 tokens, found the shape []", words,
		},
		{
			"an unknown operation", table(t, rows, bert, node("Gelv", "y", "words")),
			"expected a model that ONNX Runtime", words,
		},
		{
			"no numbers", table(t, rows, bert, node("Log", "y", "words")),
			`output "y": expected numbers, found an embedding of the length `, words,
		},
		{
			"another vocabulary", table(t, rows, bert, nil),
			"vocab.txt: expected the vocabulary of ", append(words[:5:5], "b"),
		},
		{
			"a smaller vocabulary", table(t, slices.Repeat(rows, 201), bert, nil),
			"which has 1005 words, found 4 words; give the vocab.txt that came with the model", words[:4],
		},
		{
			"fewer positions", table(t, rows, bert, func(g *onnxfile.Graph) string {
				g.Floats("positions", make([]float32, 2*128), 1, 128, 2)
				g.Node("Add", "y", nil, "words", "positions")
				return "y"
			}), "expected a model that ONNX Runtime", words,
		},
		{"a missing file", filepath.Join(voices, "none"), "no such file", words},
	} {
		_, err := Open(Config{Model: test.path, Pooling: Mean}, vocabularyOf(t, test.words...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\nfound    %v\nexpected %s", test.name, err, test.want)
			continue
		}
		if !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: the error does not name the file: %v", test.name, err)
		}
		if test.name != "a missing file" && !strings.Contains(err.Error(), "vocabulary") &&
			!strings.Contains(err.Error(), "optimum-cli export onnx") {
			t.Errorf("%s: the error does not say what to do: %v", test.name, err)
		}
	}
}

// FuzzCheck: the check accepts or refuses any bytes without a panic. An empty file is no model.
func FuzzCheck(f *testing.F) {
	g := &onnxfile.Graph{Name: "table"}
	g.Floats("rows", []float32{1, 2}, 2, 1)
	for _, input := range bert {
		g.Input(input, onnxfile.Int64, "batch_size", "sequence_length")
	}
	g.Node("Gather", "last_hidden_state", nil, "rows", "input_ids")
	g.Output("last_hidden_state", onnxfile.Float, "batch_size", "sequence_length", 1)
	f.Add(g.Model())
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, content []byte) {
		var p properties
		if err := onnx.CheckFrom(strings.NewReader(string(content)), int64(len(content)), advice,
			func(c *onnx.Checked) { p = check(c) }); err == nil && len(content) == 0 {
			t.Errorf("nothing passes with %+v", p)
		}
	})
}

// TestEmbedOutOfMemory: if memory runs out, the error says so, and a smaller batch still works. The
// model asks for 2^50 bytes times the square of the number of texts less 1, so one text is no
// problem.
func TestEmbedOutOfMemory(t *testing.T) {
	words := vocabularyOf(t, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a")
	path := table(t, [][]float32{{0, 0}, {0, 0}, {1, 0}, {0, 1}, {3, 4}}, bert,
		func(g *onnxfile.Graph) string {
			// Of the shape [texts, tokens, 2], the first number less 1, times 2^48, is the size of a
			// tensor that is added up to nothing.
			g.Ints("first", []int64{0}, 1)
			g.Ints("one", []int64{1}, 1)
			g.Ints("many", []int64{1 << 48}, 1)
			g.Node("Shape", "shape", nil, "words")
			g.Node("Gather", "texts", nil, "shape", "first")
			g.Node("Sub", "others", nil, "texts", "one")
			g.Node("Mul", "size", nil, "others", "many")
			g.Node("ConstantOfShape", "huge", nil, "size")
			g.Node("ReduceSum", "nothing", onnxfile.Attributes{onnxfile.Int("keepdims", 0)}, "huge")
			g.Node("Add", "y", nil, "words", "nothing")
			return "y"
		})
	e, err := Open(Config{Model: path, Pooling: Mean}, words)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Embed([]string{"a", "a"}); !errors.Is(err, onnx.ErrOutOfMemory) {
		t.Errorf("two texts: found %v", err)
	}
	if v := embed(t, e, "a"); math.Abs(product(v[0], v[0])-1) > 1e-5 {
		t.Errorf("one text: found %v", v)
	}
}

// TestCloseGivesTheMemoryBack: the C allocator counts the model and the memory of a batch, and both
// are given back: that of the batch at once.
func TestCloseGivesTheMemoryBack(t *testing.T) {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	allocated := func() int64 {
		r, err := host.Read()
		if err != nil {
			t.Fatal(err)
		}
		return r.Bytes(record.Allocated)
	}
	c := Config{Model: filepath.Join(models, fixtures.TextName), Pooling: Mean}
	tokenizer, err := ReadVocabulary(c.VocabularyPath())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		before := allocated()
		e, err := Open(c, tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		loaded := allocated()
		if loaded-before < 2<<20 {
			t.Errorf("the model of 2.7 MiB takes %d bytes", loaded-before)
		}
		texts := make([]string, 64)
		for i := range texts {
			texts[i] = strings.Repeat("words ", 100)
		}
		embed(t, e, texts...)
		if i > 0 && allocated()-loaded > 64<<10 {
			t.Errorf("a batch leaves %d bytes", allocated()-loaded)
		}
		e.Close()
		e.Close()
		if i > 0 && allocated()-before > 16<<10 {
			t.Errorf("after closing %d bytes stay", allocated()-before)
		}
	}
}
