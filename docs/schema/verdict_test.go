package schema_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/pipeline/validation"
)

// TestVerdictFields compares the schema of the verdict with the types that are written. A new field
// must be described in docs/schema/verdict.schema.json.
func TestVerdictFields(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	fields(reflect.TypeFor[check.Report](), "", true, want)
	fields(reflect.TypeFor[compare.Comparison](), "", false, want) // printed as one object
	fields(reflect.TypeFor[struct {
		Validation *validation.Report `json:"validation"`
	}](), "", false, want)

	root := document(t, "verdict")
	found := map[string]node{}
	schemaKeys(root, root, nil, found)
	required := map[string]bool{}
	requiredKeys(root, root, nil, required)
	got := map[string]string{}
	for key, n := range found {
		got[key] = kindOf(t, root, n)
		if required[key] {
			got[key] += ", always"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/schema/verdict.schema.json and the output differ (-program +schema):\n%s", diff)
	}
}

// fields lists the JSON fields of a type: the path, the kind, and whether it is always written.
// Fields of an object that only some commands write are not required.
func fields(of reflect.Type, path string, demanded bool, found map[string]string) {
	switch of.Kind() {
	case reflect.Pointer:
		fields(of.Elem(), path, demanded, found)
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			fields(of.Elem(), path+"[].", true, found)
		}
	case reflect.Struct:
		for f := range of.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" {
				continue
			}
			if f.Anonymous && name == "" {
				fields(f.Type, path, demanded, found)
				continue
			}
			kind := kindOfType(f.Type)
			if kind == "" || name == "" {
				panic("a field of " + of.String() + " without a name or a kind: " + f.Name)
			}
			if demanded && !strings.Contains(options, "omit") {
				kind += ", always"
			}
			found[path+name] = kind
			if kind := kindOfType(f.Type); kind != "string" {
				fields(f.Type, path+name+".", true, found)
			}
		}
	}
}

// kindOfType returns the JSON type that a Go type is written as.
func kindOfType(of reflect.Type) string {
	if of.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return kindOfType(of.Elem())
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return ""
}

// kindOf returns the JSON type that a schema requires.
func kindOf(t *testing.T, root, n node) string {
	t.Helper()
	for _, part := range parts(root, n) {
		switch kind := part["type"].(type) {
		case string:
			return kind
		case []any: // a nil slice is written as null
			if len(kind) != 2 || kind[1] != "null" {
				t.Fatalf("expected a type, or a type and null, found %v", kind)
			}
			return kind[0].(string)
		}
		if part["enum"] != nil || part["const"] != nil {
			return "string"
		}
	}
	t.Fatalf("%v has no type", n)
	return ""
}

// requiredKeys adds the required paths to found.
func requiredKeys(root, n node, path []string, found map[string]bool) {
	for _, part := range parts(root, n) {
		required, _ := part["required"].([]any)
		for _, key := range required {
			found[strings.Join(append(slices.Clone(path), key.(string)), ".")] = true
		}
		properties, _ := part["properties"].(node)
		for key, value := range properties {
			requiredKeys(root, value.(node), append(slices.Clone(path), key), found)
		}
		if items, ok := part["items"].(node); ok {
			requiredKeys(root, items, append(slices.Clone(path), "[]"), found)
		}
	}
}

// TestVerdictIsOpen validates a verdict of a later version, which has unknown fields.
func TestVerdictIsOpen(t *testing.T) {
	t.Parallel()
	holds := compiled(t, "verdict")
	finding := check.Finding{Check: check.Leak, Verdict: check.Pass, Subject: "s", Message: "m"}
	text, err := json.Marshal(check.Report{
		Schema: check.Schema, Verdict: check.Pass, Findings: []check.Finding{finding},
	})
	if err != nil {
		t.Fatal(err)
	}
	var v node
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	v["later"], v["findings"].([]any)[0].(node)["later"] = 1.0, "x"
	if err := holds.Validate(v); err != nil {
		t.Errorf("a later version's verdict: %v", err)
	}
	delete(v["findings"].([]any)[0].(node), "subject")
	if err := holds.Validate(v); err == nil {
		t.Error("the schema accepts a finding without its subject")
	}
}
