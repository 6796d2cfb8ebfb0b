package onnx

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message returns a field of a protobuf message: its number, and bytes or text.
func message[T ~string | ~[]byte](number protowire.Number, v T) []byte {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	return protowire.AppendBytes(b, []byte(v))
}

// withIf returns a file that adds to a model a node If with this graph as its branch.
func withIf(t *testing.T, graph []byte) string {
	t.Helper()
	path := saved(t, scaled)
	branch := append(message(1, "then_branch"), message(6, graph)...)
	node := append(append(message(2, "unused"), message(4, "If")...), message(5, branch)...)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		// Protobuf merges the graphs of a file into one.
		_, err = file.Write(message(7, message(1, node)))
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tensorOf returns a graph with a tensor of floats, whose shape has one dimension.
func tensorOf(dimension uint64, bytes int) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), dimension)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), Float)
	b = append(b, message(8, "inner")...)
	return message(5, append(b, message(9, make([]byte, bytes))...))
}

// TestSubgraphs: the weights of a graph inside a node are checked like others. ONNX Runtime takes
// one that is too large for a lack of memory.
func TestSubgraphs(t *testing.T) {
	deep := tensorOf(4, 16)
	for range maxNesting + 1 {
		branch := append(message(1, "then_branch"), message(6, deep)...)
		deep = message(1, message(5, branch))
	}
	for _, test := range []struct {
		graph []byte
		want  string
	}{
		{tensorOf(4, 16), ""},
		{tensorOf(4, 3), `tensor "inner": expected 16 bytes for the shape [4], found 3`},
		{tensorOf(1<<40, 4), `tensor "inner": expected 4398046511104 bytes`},
		{tensorOf(1<<63, 4), `tensor "inner": expected a shape that fits into memory`},
		{deep, "expected at most 30 graphs in each other"},
	} {
		err := Check(withIf(t, test.graph), "", func(*Checked) {})
		if (err == nil) != (test.want == "") || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("expected %q, found %v", test.want, err)
		}
	}
}
