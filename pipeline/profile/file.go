package profile

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// schema is the name and version of the file format.
const schema = "vramsoak.profile/1"

// Write writes a profile as YAML, which people can read and change. [Read] reads it.
func (p *Profile) Write(w io.Writer) error {
	var b strings.Builder
	size := func(indent, key string, n int64) {
		fmt.Fprintf(&b, "%s%s: %dB # %s\n", indent, key, n, record.FormatBytes(n))
	}
	fmt.Fprintf(&b, "schema: %s\nlog: %s\nfiles: %d\n", schema, strconv.Quote(p.Log), p.Files)
	if p.Longest > 0 {
		fmt.Fprintf(&b, "audio: {shortest: %s, longest: %s} # seconds\n", decimal(p.Shortest),
			decimal(p.Longest))
	}
	if p.Total > 0 || p.Contexts > 0 {
		b.WriteString("gpu:\n")
		if p.Total > 0 {
			size("  ", "total", p.Total)
		}
		if p.Contexts > 0 {
			size("  ", "context", p.Context)
			fmt.Fprintf(&b, "  contexts: %d # files that say so\n", p.Contexts)
		}
	}
	size("", "resident", p.Resident)
	size("", "growth", p.Growth)
	b.WriteString("stages:\n")
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "  - name: %s\n    files: %d\n", strconv.Quote(s.Name), s.Files)
		if s.Shortest != p.Shortest || s.Longest != p.Longest {
			fmt.Fprintf(&b, "    audio: {shortest: %s, longest: %s} # seconds, of those that the "+
				"line is drawn through\n", decimal(s.Shortest), decimal(s.Longest))
		}
		size("    ", "base", s.Base)
		fmt.Fprintf(&b, "    per_second: %s # bytes per second of audio\n", decimal(s.PerSecond))
		size("    ", "spread", s.Spread)
		size("    ", "peak", s.Peak)
		size("    ", "kept", s.Kept)
		fmt.Fprintf(&b, "    kept_per_second: %s\n", decimal(s.KeptPerSecond))
		fmt.Fprintf(&b,
			"    reserved: %s # over allocated\n    seconds: %s # per second of audio\n",
			decimal(s.Reserved), decimal(s.Seconds))
		if s.Note != "" {
			fmt.Fprintf(&b, "    note: %s\n", strconv.Quote(s.Note))
		}
	}
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Read reads a profile that [Profile.Write] wrote. Its error lists every mistake, each with name,
// line and column.
func Read(src []byte, name string) (*Profile, error) {
	r := reader{strictyaml.New(name)}
	p := &Profile{}
	if body := r.Document(src, "a profile, schema: "+schema,
		"vramsoak profile RUN -o profile.yaml writes one"); body != nil {
		r.profile(body, p)
	}
	for i := range p.Stages {
		if s := &p.Stages[i]; s.Longest == 0 {
			s.Shortest, s.Longest = p.Shortest, p.Longest
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

type reader struct{ *strictyaml.Reader }

func (r reader) profile(body ast.Node, p *Profile) {
	var version string
	found := r.Mapping(body, strictyaml.Fields{
		"schema": strictyaml.OneOf(r.Reader, &version, schema),
		"log":    r.Text(&p.Log, "the log that it was learned from"),
		"files":  r.Integer(&p.Files, 1),
		"audio": func(n ast.Node) {
			r.Mapping(n, strictyaml.Fields{
				"shortest": r.decimal(&p.Shortest),
				"longest":  r.decimal(&p.Longest),
			})
		},
		"gpu": func(n ast.Node) {
			r.Mapping(n, strictyaml.Fields{
				"total": r.Size(&p.Total, "a size"), "context": r.Size(&p.Context, "a size"),
				"contexts": r.Integer(&p.Contexts, 1),
			})
		},
		"resident": r.Size(&p.Resident, "a size"),
		"growth":   r.Size(&p.Growth, "a size"),
		"stages":   func(n ast.Node) { p.Stages = r.stages(n) },
	})
	switch {
	case len(found) > 0 && found["schema"] == nil:
		r.Fail(body, "schema: "+schema, "is this a profile that vramsoak profile wrote?")
	case found["stages"] == nil:
		r.Fail(body, "stages:", "vramsoak profile RUN -o profile.yaml writes them")
	}
}

func (r reader) stages(n ast.Node) []Stage {
	var all []Stage
	seen := map[string]bool{}
	for _, item := range r.List(n) {
		var s Stage
		before := len(r.Mistakes)
		found := r.Mapping(item, strictyaml.Fields{
			"name":            r.Text(&s.Name, "the name of a stage"),
			"files":           r.Integer(&s.Files, 1),
			"base":            r.Size(&s.Base, "a size"),
			"per_second":      r.decimal(&s.PerSecond),
			"spread":          r.Size(&s.Spread, "a size"),
			"peak":            r.Size(&s.Peak, "a size"),
			"kept":            r.Size(&s.Kept, "a size"),
			"kept_per_second": r.decimal(&s.KeptPerSecond),
			"audio": func(n ast.Node) {
				r.Mapping(n, strictyaml.Fields{
					"shortest": r.decimal(&s.Shortest),
					"longest":  r.decimal(&s.Longest),
				})
			},
			"reserved": r.decimal(&s.Reserved),
			"seconds":  r.decimal(&s.Seconds),
			"note":     r.Text(&s.Note, "a text of one line"),
		})
		switch {
		case len(found) == 0 && len(r.Mistakes) > before: // already reported
			continue
		case found["name"] == nil:
			r.Fail(item, "a name for the stage", "")
		case s.Name != "" && seen[s.Name]:
			r.Fail(found["name"], "a name that no other stage has", "")
		}
		seen[s.Name] = true
		all = append(all, s)
	}
	return all
}

// decimal reads a number of 0 or more.
func (r reader) decimal(to *float64) func(ast.Node) {
	return r.Number(to, 0, strictyaml.MaxBytes, "a number of 0 or more")
}
