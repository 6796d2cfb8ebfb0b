// Package schema holds the JSON Schemas (draft 2020-12) of the files that people write for vramsoak
// and of the documents that programs read from it:
//
//	src, err := schema.Get("policy") // "policy", "pipeline" or "verdict"
//
// Editors complete and check keys by them. The schemas of files are closed: they refuse the keys
// that vramsoak refuses. The schema of the verdict is open, because later versions add fields.
package schema

import (
	"embed"
	"fmt"
	"strings"

	"vramsoak/parser/strictyaml"
)

//go:embed *.schema.json
var files embed.FS

// Names lists the schemas.
func Names() []string { return []string{"pipeline", "policy", "verdict"} }

// Get returns the text of a schema.
func Get(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("expected one of the schemas %s, found %q%s",
			strings.Join(Names(), ", "), name, strictyaml.Meant(name, Names()))
	}
	return text, nil
}
