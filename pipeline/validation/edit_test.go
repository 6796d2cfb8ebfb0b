package validation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"vramsoak/pipeline/scenario"
)

func TestEdit(t *testing.T) {
	d, err := newDocument([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit Edit
		at   [2]int
		text string
		want func(*scenario.Scenario) bool
	}{
		{
			d.edit("int8", "models", 0, "dtype"),
			[2]int{6, 5},
			"models[0].dtype: none -> int8",
			func(s *scenario.Scenario) bool { return s.Models[0].DType == "int8" },
		},
		{
			d.edit(5, "clear", "every"),
			[2]int{1, 1},
			"clear.every: none -> 5",
			func(s *scenario.Scenario) bool { return s.Clear.Every == 5 },
		},
		{
			d.edit([]string{"Enrollment"}, "clear", "before"),
			[2]int{1, 1},
			"clear.before: none -> [Enrollment]", func(s *scenario.Scenario) bool {
				return s.Clear.Before[0] == "Enrollment"
			},
		},
		{
			d.edit("pass", "stages", 0, "tensors", 0, "until"),
			[2]int{13, 63},
			"stages[0].tensors[0].until: file -> pass",
			func(s *scenario.Scenario) bool {
				return s.Stages[0].Tensors[0].Until == scenario.Pass
			},
		},
		{
			d.edit(nil, "faults", 0),
			[2]int{15, 10},
			"faults[0]: {leak: 1MiB, stage: Enrollment} -> none", func(s *scenario.Scenario) bool {
				return len(s.Faults) == 0
			},
		},
	} {
		e := c.edit
		got := e.Key + ": " + e.Old + " -> " + e.New
		if got != c.text || [2]int{e.At.Line, e.At.Column} != c.at {
			t.Errorf("got %s at %d:%d, want %s at %v", got, e.At.Line, e.At.Column, c.text, c.at)
		}
		src, _, err := d.with([]Edit{e})
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Read(src, "edited")
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.text, err, src)
		}
		if !c.want(s) {
			t.Errorf("%s: the edit is missing in\n%s", c.text, src)
		}
	}
}

// TestEditAdd: a line that an edit adds is valid YAML and has the effect of the edit.
func TestEditAdd(t *testing.T) {
	d, err := newDocument([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit       Edit
		add, under string
	}{
		{d.edit(5, "clear", "every"), "clear: {every: 5}", ""},
		{
			d.edit("expandable_segments:True", "env", "PYTORCH_ALLOC_CONF"),
			`PYTORCH_ALLOC_CONF: "expandable_segments:True"`, "env",
		},
		{d.edit("int8", "models", 0, "dtype"), "dtype: int8", "models[0]"},
		{d.edit([]string{"Enrollment"}, "clear", "before"), "clear: {before: [Enrollment]}", ""},
		{d.edit(8, "stages", 0, "batch"), "", ""},
		{d.edit(nil, "faults", 0), "", ""},
	} {
		if c.edit.Add != c.add || c.edit.Under != c.under {
			t.Errorf("%s: got %q under %q, want %q under %q", c.edit.Key, c.edit.Add, c.edit.Under,
				c.add, c.under)
		}
		if c.add != "" && c.under == "" {
			if _, err := scenario.Read([]byte(file+c.add+"\n"), "added"); err != nil {
				t.Errorf("%s: %v", c.add, err)
			}
		}
	}
}

// TestSplice: an edit replaces the text of the value and nothing else, in whichever form of YAML
// the value is written.
func TestSplice(t *testing.T) {
	for _, c := range []struct {
		name, src string
		value     any
		path      []any
		want      string
	}{
		{
			"plain", "stages:\n- batch: 32 # a comment\n  items: 3\n", 8,
			[]any{"stages", 0, "batch"},
			"stages:\n- batch: 8 # a comment\n  items: 3\n",
		},
		{
			"other letters", "größe: {日本: ['it''s', \"\\\"]\"], batch: 32}\n", 8,
			[]any{"größe", "batch"},
			"größe: {日本: ['it''s', \"\\\"]\"], batch: 8}\n",
		},
		{
			"carriage returns", "# c\r\nabout: |\r\n  a: b\r\n\r\nb: 1\r\n", 8,
			[]any{"b"},
			"# c\nabout: |\n  a: b\n\nb: 8\n",
		},
		{"over lines", "b: floor(total /\n  GiB)\nc: 1\n", 8, []any{"b"}, "b: 8\nc: 1\n"},
		{"quoted", "b: 'it''s'\nc: 1\n", "a: b", []any{"b"}, "b: \"a: b\"\nc: 1\n"},
		{"literal", "b: |-\n  x\n\n  #y: z\nc: 1\n", 8, []any{"b"}, "b: 8\nc: 1\n"},
		{"an anchor stays", "b: &b 32\nc: *b\n", 8, []any{"b"}, "b: &b 8\nc: *b\n"},
		{"an alias goes", "b: &b 32\nc: *b\n", 8, []any{"c"}, "b: &b 32\nc: 8\n"},
		{
			"what is merged is overridden", "x: &x {b: 32}\nstages:\n  - name: A\n    <<: *x\n", 8,
			[]any{"stages", 0, "b"},
			"x: &x {b: 32}\nstages:\n  - b: 8\n    name: A\n    <<: *x\n",
		},
		{"behind an alias", "x: &x {b: 32}\ny: *x\n", 8, []any{"y", "b"}, "x: &x {b: 8}\ny: *x\n"},
		{"JSON", `{"stages": [{"name": "A", "batch": 32}], "x": {}}`, 8, []any{
			"stages", 0,
			"batch",
		}, `{"stages": [{"name": "A", "batch": 8}], "x": {}}`},
		{"a key of JSON", `{"x": {}}`, 8, []any{"x", "b"}, `{"x": {b: 8}}`},
		{"two keys", `{"x": {}}`, 8, []any{"clear", "every"}, `{clear: {every: 8}, "x": {}}`},
		{
			"below a comment", "# c\n---\nname: a\n", "a b",
			[]any{"env", "X"},
			"# c\n---\nenv: {X: \"a b\"}\nname: a\n",
		},
		{
			"a list in lines", "clear:\n  before:\n  - A # a\n  - B\n# c\nx: 1\n",
			[]string{"A", "C D"},
			[]any{"clear", "before"},
			"clear:\n  before:\n   [A, \"C D\"]\n" +
				"# c\nx: 1\n",
		},
		{
			"a list in brackets", "clear: {before: [A,\n  B] }\n",
			[]string{"A"},
			[]any{"clear", "before"},
			"clear: {before: [A] }\n",
		},
		{
			"the only item", "faults:\n- leak: 1MiB\n  stage: A\n\nx: 1\n", nil,
			[]any{"faults", 0},
			"faults:\n []\n\nx: 1\n",
		},
		{
			"the only item in brackets", "faults: [ {leak: 1MiB} ]\n", nil,
			[]any{"faults", 0},
			"faults: []\n",
		},
		{
			"the first item", "faults:\n  - leak: 1MiB\n    stage: A\n  # b\n  - crash: 3\n", nil,
			[]any{"faults", 0},
			"faults:\n  - crash: 3\n",
		},
		{
			"the last item", "faults:\n  - leak: 1MiB\n  - crash: 3\n    stage: A\nx: 1\n", nil,
			[]any{"faults", 1},
			"faults:\n  - leak: 1MiB\nx: 1\n",
		},
		{
			"an item in brackets", "faults: [{leak: 1MiB}, {crash: 3}, {crash: 4}]\n", nil,
			[]any{"faults", 1},
			"faults: [{leak: 1MiB}, {crash: 4}]\n",
		},
		{
			"the last in brackets", "faults: [{leak: 1MiB}, {crash: 4}]\n", nil,
			[]any{"faults", 1},
			"faults: [{leak: 1MiB}]\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := newDocument([]byte(c.src), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := d.with([]Edit{d.edit(c.value, c.path...)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if c.value == nil {
				return
			}
			after, err := newDocument(got, "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if e, want := after.edit("", c.path...), strings.ReplaceAll(d.edit(c.value,
				c.path...).New, `"`, ""); e.Old != want {
				t.Errorf("got the old value %s, want %s", e.Old, want)
			}
		})
	}
}

// TestEditsOneAfterTheOther: if two edits need the same new mapping, the first edit adds the
// mapping and the second edit adds its key to the mapping.
func TestEditsOneAfterTheOther(t *testing.T) {
	d, err := newDocument([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	src, edits, err := d.with([]Edit{
		d.edit(5, "clear", "every"), d.edit(nil, "faults", 0),
		d.edit([]string{"Enrollment"}, "clear", "before"),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Read(src, "search.yaml")
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	if s.Clear.Every != 5 || len(s.Clear.Before) != 1 || len(s.Faults) != 0 {
		t.Errorf("got %+v, %+v in\n%s", s.Clear, s.Faults, src)
	}
	if e := edits[0]; e.Add != "clear: {every: 5}" || e.Under != "" {
		t.Errorf("got %q under %q", e.Add, e.Under)
	}
	if e := edits[2]; e.Add != "before: [Enrollment]" || e.Under != "clear" {
		t.Errorf("got %q under %q", e.Add, e.Under)
	}
}

// TestEditsOfFixtures applies the cheapest and the most expensive of all candidates to the
// scenarios in fixtures. The edited file has the new value at its place, and everything else is
// unchanged.
func TestEditsOfFixtures(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/scenarios/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Read(src, path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDocument(src, path)
		if err != nil {
			t.Fatal(err)
		}
		s.GPU.Occupied, s.ClearOnStart = 1, false
		for _, c := range allCandidates(d, s, Result{Answer: DoesNotFit, FirstFailed: 5},
			s.Stages[0].Name, nil) {
			for _, step := range []int{0, c.steps - 1} {
				edits := c.edits(step)
				got, _, err := d.with(edits)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				var before, after any
				if err := yaml.Unmarshal(src, &before); err != nil {
					t.Fatal(err)
				}
				if err := yaml.Unmarshal(got, &after); err != nil {
					t.Errorf("%s: %s: %v in\n%s", path, Change{Edits: edits}.Text(), err, got)
					continue
				}
				for _, e := range edits {
					before = put(before, e.path, e.value)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s: %s: %s", path, Change{Edits: edits}.Text(), diff)
				}
			}
		}
	}
}

// put returns a tree of decoded YAML in which the value at a path is replaced or added. If value is
// nil, put removes the list item at the path.
func put(tree any, path []any, value any) any {
	if len(path) == 0 {
		switch v := value.(type) {
		case int:
			return uint64(v)
		case []string:
			list := make([]any, len(v))
			for i, item := range v {
				list[i] = item
			}
			return list
		}
		return value
	}
	if i, ok := path[0].(int); ok {
		list := tree.([]any)
		if value == nil && len(path) == 1 {
			return append(list[:i:i], list[i+1:]...)
		}
		list[i] = put(list[i], path[1:], value)
		return list
	}
	mapping, ok := tree.(map[string]any)
	if !ok {
		mapping = map[string]any{}
	}
	mapping[path[0].(string)] = put(mapping[path[0].(string)], path[1:], value)
	return mapping
}
