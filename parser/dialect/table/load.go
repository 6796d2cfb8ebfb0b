package table

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/parser/strictyaml"
)

// Load reads the list of programs behind the key dialects:, and adds all mistakes to r. taken are
// the names that a program of the list must not have.
//
//	dialects:
//	  - name: ours
//	    pattern: 'step \d+: VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)'
//	    unit: MiB
//	  - name: theirs
//	    unit: GB
//	    lines:
//	      - {pattern: 'alloc=(?P<allocated>[\d.]+)', example: 'alloc=1.5'}
//	      - {pattern: 'peak=(?P<peak>[\d.]+)', example: 'peak=2.0'}
func Load(r *strictyaml.Reader, list ast.Node, taken []string) (all []Program) {
	names := map[string]bool{}
	for _, item := range r.List(list) {
		p, name := loadProgram(r, item, taken)
		if p.Name != "" && names[p.Name] {
			r.Fail(name, "a name that no other dialect has", "")
		}
		names[p.Name] = true
		all = append(all, p)
	}
	return all
}

// loadProgram reads one program. It returns the program and the node of its name.
func loadProgram(r *strictyaml.Reader, item ast.Node, taken []string) (p Program, name ast.Node) {
	var line Line
	var lines ast.Node
	before := len(r.Mistakes)
	fields := lineFields(r, &line)
	fields["name"] = text(r, "name", &p.Name)
	fields["source"] = text(r, "source", &p.Source)
	fields["lines"] = func(n ast.Node) { lines = n }
	found := r.Mapping(item, fields)
	if len(r.Mistakes) == before && (p.Name == "" || line.Pattern == "" && lines == nil) {
		r.Fail(item, "a name and a pattern", "")
		if lines == nil {
			return p, found["name"]
		}
	}
	if p.Name != "" {
		fail(r, NameMistakes(p.Name, taken), found)
	}
	if lines == nil {
		p.Lines = []Line{line}
		validate(r, &p, &line, found)
		return p, found["name"]
	}
	for _, key := range []string{"pattern", "example", "gives"} {
		if n := found[key]; n != nil {
			r.Fail(n, "either "+key+": or lines:", "move it to one of the lines")
		}
	}
	items := r.List(lines)
	if len(items) == 0 {
		r.Fail(lines, "a list of lines", "")
	}
	for _, item := range items {
		one, before := line, len(r.Mistakes)
		found := r.Mapping(item, lineFields(r, &one))
		if len(r.Mistakes) == before && one.Pattern == "" {
			r.Fail(item, "a pattern", "")
		}
		if found["checkpoint"] != nil && found["step"] == nil {
			one.Step = ""
		} else if found["step"] != nil && found["checkpoint"] == nil {
			one.Checkpoint = ""
		}
		p.Lines = append(p.Lines, one)
		validate(r, &p, &p.Lines[len(p.Lines)-1], found)
	}
	return p, found["name"]
}

// lineFields returns the keys that a line may have, each with the function that reads its value
// into l.
func lineFields(r *strictyaml.Reader, l *Line) strictyaml.Fields {
	return strictyaml.Fields{
		"pattern":       text(r, "pattern", &l.Pattern),
		"unit":          text(r, "unit", &l.Unit),
		"decimal":       r.Flag(&l.Decimal),
		"checkpoint":    text(r, "checkpoint", &l.Checkpoint),
		"step":          text(r, "step", &l.Step),
		"rounding":      rounding(r, &l.Rounding),
		"decimals":      r.Integer(&l.Decimals, 1),
		"change":        r.Flag(&l.Change),
		"launcher_rank": r.Flag(&l.LauncherRank),
		"keep_torn":     r.Flag(&l.KeepTorn),
		"example":       text(r, "example", &l.Example),
		"gives":         text(r, "gives", &l.Gives),
	}
}

// text returns a function that stores the text behind a key in *to.
func text(r *strictyaml.Reader, key string, to *string) func(ast.Node) {
	return strictyaml.Value(r, to, "a text after "+key+":", func(s string) (string, bool) {
		return s, s != ""
	})
}

// rounding returns a function that stores a [Rounding] in *to.
func rounding(r *strictyaml.Reader, to *Rounding) func(ast.Node) {
	return func(n ast.Node) {
		strictyaml.OneOf(r, to, Roundings...)(n)
		if *to == Roundings[0] {
			*to = Nearest
		}
	}
}

// validate adds the mistakes in the values of a line to r. found holds the node of each key that
// the line has.
func validate(r *strictyaml.Reader, p *Program, l *Line, found map[string]ast.Node) {
	if l.Pattern != "" {
		fail(r, l.mistakes(p.Name), found)
	}
	switch {
	case l.Checkpoint != "" && l.Step != "":
		r.Fail(found["step"], "either checkpoint: or step:", "")
	case l.Gives != "" && l.Example == "":
		r.Fail(found["gives"], "an example: with it", "")
	case strings.ContainsAny(l.Example, "\n\r"):
		r.Fail(found["example"], "an example of one line", "")
	}
}

// fail adds mistakes to r, each with the position of its key in the file.
func fail(r *strictyaml.Reader, mistakes []Mistake, found map[string]ast.Node) {
	for _, m := range mistakes {
		if n := found[m.Field]; n != nil {
			r.Fail(n, m.Expected, "")
		}
	}
}
