package schema_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramsoak/docs/schema"
	"vramsoak/harness/check"
)

// tried are values that people write, as in YAML.
var tried = []string{
	"1", "0", "0.5", "1048576", "-1", "95%", "512MiB", "1 GiB", "250us", "true", "false", "null", `""`,
	`"8"`,
	"out-of-memory", "recovry", "halve", "stage", "forever", "torch.float16", "int64",
	"openai/whisper-large-v3",
	"RTX 5080", "60-600", "ceil(seconds / 30)", "[]", "[leak]", "[seconds, 80]", "{}",
	"{" + unknownKey + ": 1}", "[{" + unknownKey + ": 1}]", "[[]]",
}

// TestValues replaces each value of the example by each of the values above. The schema must accept
// what the reader accepts. Both must refuse a mapping, a list or a flag in the wrong position.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			tryValues(t, f)
		})
	}
}

func tryValues(t *testing.T, f format) {
	t.Helper()
	root := document(t, f.name)
	holds := compiled(t, f.name)
	example, ok := root["examples"].([]any)[0].(node)
	if !ok {
		t.Fatalf("%s: expected an example", f.name)
	}
	whole, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.read(whole); err != nil {
		t.Errorf("%s: the reader refuses the schema's example: %v", f.name, err)
	}
	covered := map[string]bool{}
	visitValues(example, nil, func(path []string, replace func(any)) {
		if covered[generic(path)] {
			return
		}
		covered[generic(path)] = true
		takes := map[string]bool{}
		for _, value := range tried {
			replace(json.RawMessage(marked))
			src, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(string(src), marked, value, 1)
			taken := f.read([]byte(text)) == nil
			takes[value] = taken
			v, ok := asJSON([]byte("value: " + value))
			if !ok {
				t.Fatalf("%s is not YAML", value)
			}
			replace(v.(node)["value"])
			err = holds.Validate(example)
			switch {
			case taken && err != nil:
				t.Errorf("%s: %s: %s: the reader accepts it, the schema does not: %v",
					f.name, generic(path), value, err)
			case !taken && err == nil && structural(value) && !named(path):
				t.Errorf("%s: %s: %s: the schema accepts it, the reader does not", f.name, generic(path), value)
			}
		}
		if takes["true"] != takes["false"] { // a flag that this key does not allow
			return
		}
		for _, flag := range []string{"true", "false"} {
			replace(flag == "true")
			pytorch := path[0] == "env" // whose values the schema does not know
			if !takes[flag] && holds.Validate(example) == nil && !pytorch {
				t.Errorf("%s: %s: %s: the schema accepts it, the reader does not", f.name, generic(path), flag)
			}
		}
	})
	for _, key := range readerKeys(f.read, nil) {
		if !covered[key] {
			t.Errorf("%s: the schema's example has no %s: add it, so that its values are tried", f.name, key)
		}
	}
}

// marked is the placeholder in JSON for a value.
const marked = `"@@@@"`

// structural reports whether a wrong value has the wrong form.
func structural(value string) bool {
	return value == "null" || strings.ContainsRune(value, '{') || value == "[[]]"
}

// named reports whether the value at a path has names of parameters as its keys. A schema does not
// know which names the rest of the file needs.
func named(path []string) bool {
	return len(path) == 1 && path[0] == "parameters" || len(path) == 2 && path[0] == "table"
}

// generic returns a path without its list indexes: "stages.[].name".
func generic(path []string) string {
	all := make([]string, len(path))
	for i, key := range path {
		all[i] = key
		if _, err := strconv.Atoi(key); err == nil {
			all[i] = "[]"
		}
	}
	return strings.Join(all, ".")
}

// visitValues visits each value within v. It passes a function that replaces the value during the
// visit.
func visitValues(v any, path []string, visit func(path []string, replace func(any))) {
	switch v := v.(type) {
	case node:
		for key, value := range v {
			at := append(slices.Clip(path), key)
			visit(at, func(by any) { v[key] = by })
			v[key] = value
			visitValues(value, at, visit)
		}
	case []any:
		for i, value := range v {
			at := append(slices.Clip(path), strconv.Itoa(i))
			visit(at, func(by any) { v[i] = by })
			v[i] = value
			visitValues(value, at, visit)
		}
	}
}

// TestEnums compares the names that schemas offer with the names that readers list.
func TestEnums(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		root := document(t, f.name)
		holds := compiled(t, f.name)
		found := map[string]node{}
		schemaKeys(root, root, nil, found)
		example := root["examples"].([]any)[0].(node)
		seen := map[string]bool{}
		visitValues(example, nil, func(path []string, replace func(any)) {
			if seen[generic(path)] {
				return
			}
			seen[generic(path)] = true
			replace(unknownKey)
			src, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range mistakes(f.read(src)) {
				words, ok := strings.CutPrefix(m.Expected, "one of ")
				if !ok || strings.HasPrefix(words, "the ") || strings.Contains(words, " and ") ||
					!strings.Contains(m.Found, unknownKey) {
					continue // not a list of words
				}
				want := strings.Split(words, ", ")
				replaced := func(word string) bool {
					replace(word)
					return holds.Validate(example) == nil
				}
				for _, word := range want {
					if !replaced(word) {
						t.Errorf("%s: %s: the reader accepts %q, the schema does not", f.name, generic(path), word)
					}
				}
				if replaced(unknownKey) {
					t.Errorf("%s: %s: the schema accepts any word, the reader one of %v",
						f.name, generic(path), want)
				}
			}
		})
	}
	if len(schema.Names()) != 3 {
		t.Errorf("expected three schemas, found %v", schema.Names())
	}
}

// TestAmounts tries the spellings of sizes and percentages, each on one key.
func TestAmounts(t *testing.T) {
	t.Parallel()
	holds := compiled(t, "policy")
	for _, value := range []string{
		"4M", "1.5GiB", "20 B", "16GB", "64kb", "512 KiB", "0.5 TiB", ".5GiB", "7.GiB", "+3MiB",
		"12 bytes", "0", "1e3", "2.5",
		"-1MiB", "1 PiB", "GiB", "1,5GiB", "0.95", "95%", "95 %", "100%", "1", "99.9%", ".5", "1.5",
		"120%", "-5%", "%", "1.0", "05%",
	} {
		for _, key := range []string{"floor", "min"} {
			text := []byte("recovery: {" + key + ": \"" + value + "\"}")
			_, readErr := check.ParsePolicy(text, "p.yaml")
			v, _ := asJSON(text)
			if err := holds.Validate(v); readErr == nil && err != nil {
				t.Errorf("%s: the reader accepts it, the schema does not: %v", text, err)
			} else if readErr != nil && err == nil {
				t.Errorf("%s: the schema accepts it, the reader does not", text)
			}
		}
	}
}
