package check

import (
	"math"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/harness/shape"
	"vramsoak/parser/dialect"
	"vramsoak/parser/strictyaml"
)

// ParsePolicy reads a policy from YAML; name stands in its errors. What it does not name is as in [DefaultPolicy]. The
// error names every mistake, each with its line and column.
func ParsePolicy(src []byte, name string) (Policy, error) {
	policy := DefaultPolicy()
	r := policyReader{strictyaml.New(name)}
	if body := r.Document(src, "", ""); body != nil { // an empty one asks for nothing
		r.Mapping(body, r.policy(&policy))
	}
	if err := r.Err(); err != nil {
		return Policy{}, err
	}
	return policy, nil
}

type policyReader struct{ *strictyaml.Reader }

// policy are the keys of a policy file and what reads them.
func (r policyReader) policy(p *Policy) strictyaml.Fields {
	checks := func(to *[]string) func(ast.Node) {
		return func(n ast.Node) {
			*to = nil
			for _, item := range r.List(n) {
				var check string
				if strictyaml.OneOf(r.Reader, &check, Checks...)(item); check != "" {
					*to = append(*to, check)
				}
			}
		}
	}
	parts := map[string]strictyaml.Fields{
		"recovery": {
			"min":   strictyaml.Share(r.Reader, &p.Recovery.Min),
			"floor": r.Bytes(&p.Recovery.Floor.Bytes, "an amount"),
		},
		"peak": {
			"notice": strictyaml.Share(r.Reader, &p.Peak.Notice),
			"max":    strictyaml.Share(r.Reader, &p.Peak.Max),
		},
		"leak": {
			"min_files": r.Integer(&p.Leak.MinFiles, shape.LeastFiles),
			"warm_up":   r.Integer(&p.Leak.WarmUp, 0),
		},
		"fragmentation": {"max_share": strictyaml.Share(r.Reader, &p.Fragmentation.MaxShare)},
		"drift":         {"max_change": strictyaml.Share(r.Reader, &p.Drift.MaxChange)},
		"clean_start": {
			"max_used": r.Bytes(&p.CleanStart.MaxUsed.Bytes, "an amount"),
			"max_left": r.Bytes(&p.CleanStart.MaxLeft.Bytes, "an amount"),
		},
		"regression": {
			"min_effect":   strictyaml.Share(r.Reader, &p.Regression.MinEffect),
			"min_bytes":    r.Bytes(&p.Regression.MinBytes.Bytes, "an amount"),
			"min_slowdown": strictyaml.Share(r.Reader, &p.Regression.MinSlowdown),
			"false_alarms": strictyaml.Share(r.Reader, &p.Regression.FalseAlarms),
			"exact":        r.Flag(&p.Regression.Exact),
		},
		"expect": {"checkpoints": r.Texts(&p.Expect.Checkpoints, "the name of a checkpoint")},
	}
	for i := range Ledgers {
		of := &Ledgers[i]
		if parts[of.Key] == nil {
			parts[of.Key] = strictyaml.Fields{}
		}
		parts[of.Key]["max_growth"] = r.maxGrowth(p, of)
	}
	all := strictyaml.Fields{
		"gate": checks(&p.Gate), "require": checks(&p.Require), "dialects": r.dialects(&p.Dialects),
	}
	for key, fields := range parts {
		all[key] = func(n ast.Node) { r.Mapping(n, fields) }
	}
	return all
}

// maxGrowth reads how much a ledger may grow.
func (r policyReader) maxGrowth(p *Policy, of *Ledger) func(ast.Node) {
	return func(n ast.Node) {
		most := p.MaxGrowth[of.Name]
		if of.Unit == Bytes {
			bytes := int64(most)
			r.Bytes(&bytes, "an amount")(n)
			most = float64(bytes)
		} else {
			r.Number(&most, 0, math.MaxInt32, "a number of 0 or more")(n)
		}
		p.MaxGrowth[of.Name] = most
	}
}

// dialects reads the list of the user's dialects.
func (r policyReader) dialects(to *[]dialect.User) func(ast.Node) {
	return func(n ast.Node) {
		names := map[string]bool{}
		for _, item := range r.List(n) {
			d, name := r.dialect(item)
			if d.Name != "" && names[d.Name] {
				r.Fail(name, "a name that no other dialect has", "")
			}
			names[d.Name] = true
			*to = append(*to, d)
		}
	}
}

// dialect reads one, and says where its name stands.
func (r policyReader) dialect(item ast.Node) (d dialect.User, name ast.Node) {
	field := func(key string, to *string) func(ast.Node) {
		return strictyaml.Value(r.Reader, to, "a text after "+key+":", func(s string) (string, bool) { return s, s != "" })
	}
	before := len(r.Mistakes)
	found := r.Mapping(item, strictyaml.Fields{
		"name":    field("name", &d.Name),
		"pattern": field("pattern", &d.Pattern),
		"unit":    field("unit", &d.Unit),
		"decimal": r.Flag(&d.Decimal),
	})
	if len(r.Mistakes) == before && (d.Name == "" || d.Pattern == "") {
		r.Fail(item, "a name and a pattern", "")
		return d, found["name"]
	}
	read := map[string]string{"name": d.Name, "pattern": d.Pattern, "unit": d.Unit}
	for _, m := range d.Mistakes() {
		if read[m.Field] != "" {
			r.Fail(found[m.Field], m.Expected, "")
		}
	}
	return d, found["name"]
}
