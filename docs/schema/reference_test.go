package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vramsoak/docs/schema"
	"vramsoak/fixtures/golden"
)

// referenceHead is the start of the page that is generated from the schemas.
const referenceHead = "# Keys and fields\n" + `
Reference: which keys do the policy file and the pipeline file have, and which fields does the
verdict have?

A test writes this page from the JSON Schemas in this folder (draft 2020-12). Other tests compare
the schemas with what vramsoak reads and writes. [The policy file](../reference/policy.md) and
[the pipeline file](../reference/pipeline-file.md) say what the files are for. This command prints a
schema for your editor:

` + "```sh\nvramsoak schema policy > vramsoak.schema.json     # also: pipeline, verdict\n```" + `

A size is a number of bytes (1048576), or a number with a unit (512KiB, 1.5GiB; GB means GiB). A
share is above 0 and at most 1: 0.95, or 95%. vramsoak ignores keys that begin with x-. They are a
place for YAML anchors.
`

// TestReference compares README.md with the schemas. UPDATE=1 rewrites it.
func TestReference(t *testing.T) {
	t.Parallel()
	const path = "README.md"
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, name := range []string{"policy", "pipeline", "verdict"} {
		root := ordered(t, name)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", strings.ToUpper(name[:1])+name[1:],
			wrapped(root["description"].(string)))
		if name == "verdict" {
			b.WriteString("[verdict.schema.json](verdict.schema.json) has the fields of `validation`.\n\n" +
				"| field | type | meaning |\n|---|---|---|\n")
		} else {
			b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		}
		rows(t, &b, root, root, "", name == "verdict")
	}
	golden.File(t, path, []byte(b.String()))
}

// wrapped breaks a text into lines of at most 100 columns.
func wrapped(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 100 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}

// rows writes a row of the table for each key of a schema, including nested keys.
func rows(t *testing.T, b *strings.Builder, root, n node, path string, fields bool) {
	t.Helper()
	for _, part := range parts(root, n) {
		properties, _ := part["properties"].(node)
		order, _ := part[inOrder].([]string)
		for _, key := range order {
			value := properties[key].(node)
			at := path + key
			if fields {
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", at, kindOf(t, root, value), value["description"])
			} else {
				fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n",
					at, valueOf(root, value), defaultOf(value), value["description"])
			}
			if at != "validation" {
				rows(t, b, root, value, at+".", fields)
			}
		}
		if items, ok := part["items"].(node); ok {
			rows(t, b, root, items, strings.TrimSuffix(path, ".")+"[].", fields)
		}
	}
}

// valueOf returns a description of a key's values: the allowed words, or the type.
func valueOf(root, n node) string {
	for _, part := range parts(root, n) {
		if title, ok := part["title"].(string); ok {
			return title
		}
		if words, ok := part["enum"].([]any); ok {
			return strings.Trim(strings.ReplaceAll(fmt.Sprint(words), " ", ", "), "[]")
		}
	}
	kind, _ := n["type"].(string)
	return map[string]string{"object": "keys", "array": "list", "boolean": "true or false"}[kind]
}

// defaultOf returns a default as a user would write it.
func defaultOf(n node) string {
	if n["default"] == nil {
		return ""
	}
	if text, ok := n["default"].(string); ok {
		return "`" + text + "`"
	}
	text, err := json.Marshal(n["default"])
	if err != nil {
		return err.Error()
	}
	return "`" + strings.ReplaceAll(strings.ReplaceAll(string(text), `"`, ""), ",", ", ") + "`"
}

// inOrder is the key under which ordered stores the order of properties.
const inOrder = "\x00order"

// ordered returns a schema with the order of its properties.
func ordered(t *testing.T, name string) node {
	t.Helper()
	root := document(t, name)
	src, err := schema.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	if err := order(dec, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// order reads a value from JSON, and adds the order of its properties to v, the same value.
func order(dec *json.Decoder, v any) error {
	token, err := dec.Token()
	delim, nested := token.(json.Delim)
	if err != nil || !nested {
		return err
	}
	for i := 0; dec.More(); i++ {
		if delim == '[' {
			err = order(dec, v.([]any)[i])
		} else {
			err = orderKey(dec, v.(node))
		}
		if err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func orderKey(dec *json.Decoder, n node) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	key := token.(string)
	var keys []string
	if properties, ok := n[key].(node); ok && key == "properties" {
		if _, err := dec.Token(); err != nil {
			return err
		}
		for dec.More() {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			keys = append(keys, token.(string))
			if err := order(dec, properties[token.(string)]); err != nil {
				return err
			}
		}
		n[inOrder] = keys
		_, err = dec.Token()
		return err
	}
	return order(dec, n[key])
}
