package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"vramsoak/docs/schema"
	"vramsoak/harness/check"
	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/scenario"
)

// A format is a file that people write: its schema, and the reader that decides which files are
// valid.
type format struct {
	name string
	read func(src []byte) error
}

var formats = []format{
	{"policy", func(src []byte) error { _, err := check.ParsePolicy(src, "p.yaml"); return err }},
	{"pipeline", func(src []byte) error { _, err := scenario.Read(src, "p.yaml"); return err }},
}

// document returns a schema as JSON.
func document(t *testing.T, name string) map[string]any {
	t.Helper()
	src, err := schema.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(src, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// compiled returns a compiled schema. The meta-schema must accept it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document(t, name)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s.schema.json: %v", name, err)
	}
	return s
}

// asJSON returns a YAML file as the values that an editor would validate. ok is false if it is
// invalid or empty.
func asJSON(src []byte) (v any, ok bool) {
	if err := yaml.Unmarshal(src, &v); err != nil || v == nil {
		return nil, false
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return v, err == nil
}

// unknownKey is a key that no format has. It resembles none of their keys.
const unknownKey = "zzzzzzzzzzzz"

// keysExpected is the start of a reader's message about an unknown key.
const keysExpected = "one of the keys "

type mistake = *strictyaml.Mistake

// mistakes returns what a reader reports about a file.
func mistakes(err error) (all []mistake) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, mistakes(e)...)
		}
	} else if m, ok := errors.AsType[mistake](err); ok {
		all = append(all, m)
	}
	return all
}

// keysAt returns the keys that a reader accepts in the mapping at a path, or nil if there is no
// such mapping. It finds them by giving the reader an unknown key.
func keysAt(read func([]byte) error, path []string) []string {
	src := fmt.Sprintf("{%s: 1}", unknownKey)
	for _, key := range slices.Backward(path) {
		if key == "[]" {
			src = "[" + src + "]"
		} else {
			src = fmt.Sprintf("{%s: %s}", key, src)
		}
	}
	for _, m := range mistakes(read([]byte(src))) {
		keys, ok := strings.CutPrefix(m.Expected, keysExpected)
		if ok && strings.Contains(m.Found, unknownKey) {
			return strings.Split(keys, ", ")
		}
	}
	return nil
}

// readerKeys returns the paths of all keys that a reader accepts, such as
// "stages.[].tensors.[].size".
func readerKeys(read func([]byte) error, path []string) (all []string) {
	for _, key := range keysAt(read, path) {
		at := append(slices.Clone(path), key)
		all = append(all, strings.Join(at, "."))
		all = append(all, readerKeys(read, at)...)
		all = append(all, readerKeys(read, append(slices.Clone(at), "[]"))...)
	}
	return all
}

// A node is a part of a schema.
type node = map[string]any

// parts returns a schema, the schemas it refers to, and its alternatives.
func parts(root, n node) []node {
	all := []node{n}
	if to, ok := n["$ref"].(string); ok {
		def := root["$defs"].(node)[strings.TrimPrefix(to, "#/$defs/")]
		all = append(all, parts(root, def.(node))...)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		choices, _ := n[key].([]any)
		for _, choice := range choices {
			all = append(all, parts(root, choice.(node))...)
		}
	}
	return all
}

// schemaKeys adds the paths of all keys of a schema, with their schemas, to found.
func schemaKeys(root, n node, path []string, found map[string]node) {
	for _, part := range parts(root, n) {
		properties, _ := part["properties"].(node)
		for key, value := range properties {
			at := append(slices.Clone(path), key)
			found[strings.Join(at, ".")] = value.(node)
			schemaKeys(root, value.(node), at, found)
		}
		if items, ok := part["items"].(node); ok {
			schemaKeys(root, items, append(slices.Clone(path), "[]"), found)
		}
	}
}

// TestKeys compares the keys of each schema with the keys that its reader accepts.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		want := readerKeys(f.read, nil)
		slices.Sort(want)
		if len(want) < 20 {
			t.Fatalf("%s: expected that the reader names its keys, found %d", f.name, len(want))
		}
		found := map[string]node{}
		root := document(t, f.name)
		schemaKeys(root, root, nil, found)
		var got []string
		for key := range found {
			got = append(got, key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("docs/schema/%s.schema.json and the reader have different keys (-reader +schema):\n%s",
				f.name, diff)
		}
		closed(t, f.name, root, root)
	}
}

// closed fails the test unless every mapping with keys refuses other keys.
func closed(t *testing.T, name string, root node, v any) {
	switch v := v.(type) {
	case node:
		properties, is := v["properties"].(node)
		if is && v["type"] == "object" && v["additionalProperties"] != false {
			t.Errorf("%s: the mapping of %v accepts any key", name, properties)
		}
		for _, part := range v {
			closed(t, name, root, part)
		}
	case []any:
		for _, part := range v {
			closed(t, name, root, part)
		}
	}
}

// TestDescriptions: each key of each schema has a description in a sentence.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	for _, name := range schema.Names() {
		compiled(t, name)
		found := map[string]node{}
		root := document(t, name)
		schemaKeys(root, root, nil, found)
		for key, value := range found {
			text, _ := value["description"].(string)
			if !strings.HasSuffix(text, ".") || len(text) < len("Bytes.") {
				t.Errorf("%s: %s: expected a sentence for its description, found %q", name, key, text)
			}
		}
	}
	_, err := schema.Get("polcy")
	if err == nil || !strings.Contains(err.Error(), "pipeline, policy, verdict") {
		t.Errorf("a schema that does not exist: got %v", err)
	}
}

// TestPolicyDefaults: a policy with exactly the defaults of the schema is the program's default
// policy.
func TestPolicyDefaults(t *testing.T) {
	t.Parallel()
	found := map[string]node{}
	root := document(t, "policy")
	schemaKeys(root, root, nil, found)
	policy := map[string]any{}
	for key, value := range found {
		if value["default"] == nil || strings.Contains(key, "[]") {
			continue
		}
		at := policy
		group, leaf, nested := strings.Cut(key, ".")
		if !nested {
			leaf = group
		} else {
			if policy[group] == nil {
				policy[group] = map[string]any{}
			}
			at = policy[group].(map[string]any)
		}
		at[leaf] = value["default"]
	}
	src, err := json.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	got, err := check.ParsePolicy(src, "defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(check.DefaultPolicy(), got, cmp.Comparer(slices.Equal[[]string])); diff != "" {
		t.Errorf("docs/schema/policy.schema.json has other defaults (-program +schema):\n%s",
			diff)
	}
	keys := map[string]bool{}
	for f := range reflect.TypeFor[check.Policy]().Fields() {
		keys[strings.ToLower(f.Name)] = true
	}
	delete(keys, "maxgrowth") // it holds a key of each ledger
	for _, of := range check.Ledgers {
		keys[strings.ReplaceAll(of.Key, "_", "")] = true
	}
	if len(keys) != len(root["properties"].(node)) {
		t.Errorf("expected a key for each field of check.Policy and each ledger, %v", keys)
	}
}
