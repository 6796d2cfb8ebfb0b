package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/harness/waiver"
	"vramsoak/parser/lex"
	"vramsoak/parser/strictyaml"
)

// waive returns the function that reads the list of waivers into p.
func (r policyReader) waive(p *Policy) func(ast.Node) {
	return func(n ast.Node) {
		for _, item := range r.List(n) {
			w, before := WaivePolicy{}, len(r.Mistakes)
			found := r.Mapping(item, strictyaml.Fields{
				"check":   strictyaml.OneOf(r.Reader, &w.Check, Checks...),
				"subject": r.Text(&w.Subject, "the subject of a finding"),
				"up_to":   func(ast.Node) {}, // read below, when the check is known
				"reason":  r.Text(&w.Reason, "a reason"),
				"until": strictyaml.Value(r.Reader, &w.Until, "the last day of the waiver, such as "+
					"2027-01-31", waiver.ParseDay),
			})
			for _, key := range []string{"check", "reason", "until"} {
				if len(r.Mistakes) == before && found[key] == nil {
					r.Fail(item, "the key "+key+": a waiver needs check, reason and until", "")
				}
			}
			if limit := found["up_to"]; limit != nil && w.Check != "" {
				r.upTo(limit, &w)
			}
			p.Waive = append(p.Waive, w)
		}
	}
}

// upTo reads the worst value that a waiver covers, in a unit in which the check measures.
func (r policyReader) upTo(n ast.Node, w *WaivePolicy) {
	node := r.Resolve(n)
	if node == nil {
		return
	}
	text, _ := strictyaml.Scalar(node)
	units := unitsOf(w.Check)
	if value, unit, ok := amount(text); ok && slices.Contains(units, unit) {
		w.UpTo, w.Unit = &value, unit
		return
	}
	var forms []string
	for _, unit := range units {
		forms = append(forms, map[string]string{
			Bytes: "a size such as 2MiB", Ratio: "a share such as 90%", Count: "a number such as 3",
		}[unit])
	}
	r.Fail(node, fmt.Sprintf("%s, as %s measures it", strings.Join(forms, " or "), w.Check), "")
}

// amount reads a size with its unit, a share with %, or a number, and returns its unit. Numbers are
// for findings that count or time something.
func amount(text string) (value float64, unit string, ok bool) {
	valid := func(value float64) bool { return value >= 0 && value <= strictyaml.MaxBytes }
	if share, is := strings.CutSuffix(text, "%"); is {
		value, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		return value / 100, Ratio, err == nil && valid(value)
	}
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		return value, Count, valid(value)
	}
	size, err := lex.ParseSize(text)
	return float64(size.Bytes), Bytes, err == nil && valid(float64(size.Bytes))
}

// unitsOf returns the units of what a check measures, without "/file". [Count] stands for all that
// is neither bytes nor a ratio.
func unitsOf(check string) []string {
	switch check {
	case Recovery, DeviceRecovery, Peak:
		return []string{Ratio}
	case CleanStart:
		return []string{Bytes}
	case Fragmentation: // growth, and what was never used
		return []string{Bytes, Ratio}
	case OutOfMemory, Fallbacks, Completeness, Consistency:
		return []string{Count}
	case Throughput: // a slowdown; growth in seconds
		return []string{Ratio, Count}
	case Drift, Regression:
		return []string{Bytes, Ratio, Count}
	}
	if of := LedgerOf(check); of != nil {
		return []string{of.Unit}
	}
	return nil
}
