package onnx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/onnxfile"
)

// saved writes a model to a file and returns its path.
func saved(t *testing.T, build func(*onnxfile.Graph)) string {
	t.Helper()
	g := &onnxfile.Graph{Name: "test"}
	build(g)
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, g.Model(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// scaled is a model that looks up rows of a table and multiplies them with a number.
func scaled(g *onnxfile.Graph) {
	g.Floats("table", []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	g.Input("ids", onnxfile.Int64, "N")
	g.Input("factor", onnxfile.Float, 1)
	g.Node("Gather", "rows", nil, "table", "ids")
	g.Node("Mul", "y", nil, "rows", "factor")
	g.Node("Shape", "shape", nil, "rows")
	g.Output("y", onnxfile.Float, "N", 2)
	g.Output("shape", onnxfile.Int64, 2)
}

func load(t *testing.T, path string, o Options) *Session {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestRun: a session takes ints and floats, and gives the shape and the numbers of an output,
// however often it runs.
func TestRun(t *testing.T) {
	path := saved(t, scaled)
	for _, o := range []Options{{}, {Threads: 3}, {Plain: true}} {
		s := load(t, path, o)
		for factor, want := range map[float32][]float32{
			1: {5, 6, 1, 2}, -0.5: {-2.5, -3, -0.5, -1},
		} {
			err := s.Run([]Input{
				{Name: "factor", Shape: []int64{1}, Floats: []float32{factor}},
				{Name: "ids", Shape: []int64{2}, Ints: []int64{2, 0}},
			}, "y", func(v Value, data []float32) error {
				if diff := cmp.Diff(Value{"y", Float, []int64{2, 2}, true}, v); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(want, data); diff != "" {
					t.Errorf("times %g:\n%s", factor, diff)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		s.Close()
	}
}

// TestRunRefuses: what ONNX Runtime does not do is an error with the file, and the session can be
// used again.
func TestRunRefuses(t *testing.T) {
	path := saved(t, scaled)
	s := load(t, path, Options{})
	ids := Input{Name: "ids", Shape: []int64{1}, Ints: []int64{1}}
	factor := Input{Name: "factor", Shape: []int64{1}, Floats: []float32{2}}
	bad := errors.New("not so")
	for _, test := range []struct {
		name, output, want string
		inputs             []Input
	}{
		{"an input missing", "y", "factor", []Input{ids}},
		{"an unknown output", "z", "z", []Input{ids, factor}},
		{
			"a row that the table does not have", "y", "indices element out of data bounds",
			[]Input{{Name: "ids", Shape: []int64{1}, Ints: []int64{3}}, factor},
		},
		{
			"fewer numbers than the shape says", "y", "not enough space",
			[]Input{{Name: "ids", Shape: []int64{9}, Ints: []int64{1}}, factor},
		},
		{
			"another type", "y", "Unexpected input data type",
			[]Input{{Name: "ids", Shape: []int64{1}, Floats: []float32{1}}, factor},
		},
		{
			"an output of ints", "shape", `output "shape": expected elements of type float, found int64`,
			[]Input{ids, factor},
		},
		{
			"too many inputs", "y", "expected at most 4 inputs, found 5",
			[]Input{ids, ids, ids, ids, ids},
		},
	} {
		err := s.Run(test.inputs, test.output, func(Value, []float32) error { return nil })
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: found %v, expected %s", test.name, err, test.want)
		}
	}
	if err := s.Run([]Input{ids, factor}, "y", func(Value, []float32) error {
		return bad
	}); !errors.Is(err, bad) {
		t.Errorf("the caller's own error: found %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); err == nil {
		t.Error("a missing file: expected an error")
	}
	path := saved(t, func(g *onnxfile.Graph) {
		g.Input("x", onnxfile.Float, 1)
		g.Node("Nothing", "y", nil, "x")
		g.Output("y", onnxfile.Float, 1)
	})
	if err := Check(path, "", func(*Checked) {}); err != nil {
		t.Errorf("the check of the file already refuses it: %v", err)
	}
	if _, err := Open(path, Options{}); err == nil || !strings.HasPrefix(err.Error(), path+
		": expected a model that ONNX Runtime "+Version()+" runs, found what it does not: ") {
		t.Errorf("an unknown operator: found %v", err)
	}
}

// TestRows: the size of a table shows how many rows an input may look up.
func TestRows(t *testing.T) {
	var rows []int64
	if err := Check(saved(t, scaled), "", func(c *Checked) {
		rows = []int64{c.Rows("ids"), c.Rows("factor")}
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{3, Free}, rows); diff != "" {
		t.Error(diff)
	}
}

// TestTry: a model is tried once, and again if the file changes or the trial failed.
func TestTry(t *testing.T) {
	path := saved(t, scaled)
	bad, runs := errors.New("bad"), 0
	try := func(err error) error {
		return Try(path, func() error { runs++; return err })
	}
	if err := try(bad); !errors.Is(err, bad) {
		t.Errorf("found %v", err)
	}
	for range 3 {
		if err := try(nil); err != nil {
			t.Error(err)
		}
	}
	if runs != 2 {
		t.Errorf("%d trials, want 2", runs)
	}
	if err := os.WriteFile(path, []byte("changed"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := try(nil); err != nil || runs != 3 {
		t.Errorf("a changed file: %d trials, %v", runs, err)
	}
	if err := Try(path+"none", func() error { return nil }); err == nil {
		t.Error("a missing file: expected an error")
	}
}
