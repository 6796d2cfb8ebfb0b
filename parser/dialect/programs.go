package dialect

import (
	_ "embed"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"vramsoak/parser/dialect/table"
	"vramsoak/parser/scan"
	"vramsoak/parser/strictyaml"
)

// programsYAML describes the programs that print lines. Those that print blocks are written in Go.
//
//go:embed programs.yaml
var programsYAML string

// An entry is the text of one program in programs.yaml. Parsing the YAML takes longer than
// everything else at the start of a command. So at the start, only the names and patterns are cut
// out of the text; each of them has its own line. The entry is parsed when a log contains one of
// its needles.
type entry struct {
	name     string
	text     string // from "  - name:" on, and the comments above that line
	patterns []string
	program  func() *table.Program
}

// entries returns the entries in the order of the file.
var entries = sync.OnceValue(func() (all []*entry) {
	const list, item = "\ndialects:\n", "  - name: "
	_, text, _ := strings.Cut(programsYAML, list)
	var above strings.Builder // the comments above the next entry
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  #") || line == "\n" {
			above.WriteString(line)
			continue
		}
		if name, ok := strings.CutPrefix(line, item); ok {
			all = append(all, &entry{name: strings.TrimSpace(name)})
		}
		e := all[len(all)-1]
		e.text += strings.TrimLeft(above.String(), "\n") + line
		above.Reset()
		field := strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if quoted, ok := strings.CutPrefix(field, "pattern: '"); ok {
			e.patterns = append(e.patterns, strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), "''", "'"))
		}
	}
	for _, e := range all {
		e.program = sync.OnceValue(func() *table.Program { return &mustLoad("dialects:\n" + e.text)[0] })
	}
	return all
})

// mustLoad parses programs.yaml or one entry of it. It panics if there is a mistake, which
// TestPrograms would find.
func mustLoad(src string) []table.Program {
	programs, err := load(src)
	if err != nil {
		panic(err)
	}
	return programs
}

// load parses a text in the form of programs.yaml.
func load(src string) (programs []table.Program, err error) {
	r := strictyaml.New("programs.yaml")
	if body := r.Document([]byte(src), "programs", ""); body != nil {
		for _, e := range first(r.Entries(body, 0)) {
			programs = table.Load(r, e.Value, nil)
		}
	}
	return programs, r.Err()
}

// first returns the first of two values.
func first[T any](v T, _ bool) T { return v }

// dialects returns one dialect for each line of the entry.
func (e *entry) dialects() (all []*scan.Dialect) {
	for i, pattern := range e.patterns {
		line := table.Line{Pattern: pattern}
		all = append(all, line.Dialect(e.name, e.program, i))
	}
	return all
}

// Show returns the entry of a built-in program as YAML, under the name my-NAME, so that a user
// can start from it. For a dialect that is written only in Go, Show returns the Go file instead.
// For an unknown name, both results are "".
func Show(name string) (yaml, goFile string) {
	for _, e := range entries() {
		if e.name == name {
			return "dialects:\n" + strings.Replace(e.text, "- name: ", "- name: my-", 1), ""
		}
	}
	for _, d := range written {
		if d.Name == name {
			pc := reflect.ValueOf(d.Read).Pointer()
			file, _ := runtime.FuncForPC(pc).FileLine(pc)
			return "", file[max(0, strings.LastIndex(file, "parser/dialect/")):]
		}
	}
	return "", ""
}
