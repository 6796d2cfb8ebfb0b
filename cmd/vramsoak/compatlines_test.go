package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"vramsoak/docs/schema"
)

// The types here repeat the names that programs read in vramsoak's output. They are not those of
// the program on purpose: a field that is renamed there is missing here.
type (
	compatVerdict struct {
		Schema      string
		Verdict     string
		Files       int
		Checkpoints int
		Peak        map[string]int64
		Findings    []compatFinding
		Metrics     []compatMetric // of compare
		PairedFiles *int           `json:"paired_files"`
		Validation  *struct {
			Answer string
			Total  int64
			Failed int
			Stages []struct {
				Stage     string
				Need      int64
				Allocated int64
				Reserved  int64
			}
		}
	}
	compatFinding struct {
		Check    string
		Verdict  string
		Subject  string
		File     int
		Measured *float64
		Limit    *float64
		Unit     string
		Message  string
		Gates    *bool
	}
	compatMetric struct {
		Name       string
		Unit       string
		Device     int
		Verdict    string
		Paired     bool
		Files      int
		Base       float64
		New        float64
		Difference float64
		Only       string
	}
)

// compatLines shows what a command printed without its words: of a verdict the findings, of records
// what was read, of a text its lines.
func compatLines(t *testing.T, args []string, stdout []byte) []string {
	t.Helper()
	switch {
	case slices.Contains(args, "jsonl"):
		return compatRecords(t, stdout)
	case bytes.HasPrefix(stdout, []byte("{\n  \"schema\": \"vramsoak.verdict/1\"")):
		return compatFindings(t, stdout)
	case len(stdout) == 0:
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(stdout)) {
		lines = append(lines, strings.Join(strings.Fields(line), " ")) // tables change their widths
	}
	return lines
}

// sixDigits shows a number so that another order of summation does not change it.
func sixDigits(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.6g", *f)
}

func compatFindings(t *testing.T, text []byte) []string {
	t.Helper()
	var v compatVerdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if err := validVerdict(text); err != nil {
		t.Errorf("docs/schema/verdict.schema.json: %v", err)
	}
	lines := []string{
		fmt.Sprintf("verdict %s, files %d, checkpoints %d", v.Verdict, v.Files, v.Checkpoints),
		fmt.Sprintf("peak allocated=%d reserved=%d used=%d total=%d",
			v.Peak["allocated"], v.Peak["reserved"], v.Peak["used"], v.Peak["total"]),
	}
	var rest []string
	for _, f := range v.Findings {
		gates := "shown"
		switch {
		case f.Gates == nil || f.Message == "":
			t.Errorf("finding %s, %s: expected gates and a message, found %+v", f.Check, f.Subject, f)
		case *f.Gates:
			gates = "gates"
		}
		rest = append(rest, fmt.Sprintf("%s %s, %s: file %d, %s of %s %s (%s)",
			f.Verdict, f.Check, f.Subject, f.File, sixDigits(f.Measured), sixDigits(f.Limit), f.Unit, gates))
	}
	if v.PairedFiles != nil {
		lines = append(lines, fmt.Sprintf("files in both runs %d", *v.PairedFiles))
	}
	for _, m := range v.Metrics {
		by := fmt.Sprintf("%s to %s, by %s %s",
			sixDigits(&m.Base), sixDigits(&m.New), sixDigits(&m.Difference), m.Unit)
		rest = append(rest, fmt.Sprintf("%s metric %s, device %d: %s, %d files, paired %t %s",
			m.Verdict, m.Name, m.Device, by, m.Files, m.Paired, m.Only))
	}
	if v.Validation != nil {
		a := v.Validation
		lines = append(lines, fmt.Sprintf("answer %s, total %d, failed %d", a.Answer, a.Total, a.Failed))
		for _, s := range a.Stages {
			rest = append(rest, fmt.Sprintf("stage %s: need %d, allocated %d, reserved %d",
				s.Stage, s.Need, s.Allocated, s.Reserved))
		}
	}
	slices.Sort(rest) // the order is for people
	return append(lines, rest...)
}

// compatRecords counts records by their kind, dialect and name, and sums their sizes.
func compatRecords(t *testing.T, text []byte) []string {
	t.Helper()
	type kind struct{ dialect, kind, name string }
	type sum struct{ n, allocated, reserved, used, total, sampled int64 }
	var kinds []kind
	sums := map[kind]*sum{}
	for line := range bytes.Lines(text) {
		var r struct {
			Line                             int
			Dialect, Kind, Name              string
			Sampled                          bool
			Allocated, Reserved, Used, Total int64
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r.Line == 0 {
			t.Errorf("%s: expected the number of its line", line)
		}
		k := kind{r.Dialect, r.Kind, r.Name}
		if strings.HasPrefix(r.Kind, "file-") { // each file has its own
			k.name = ""
		}
		if sums[k] == nil {
			kinds = append(kinds, k)
			sums[k] = &sum{}
		}
		s := sums[k]
		s.n++
		s.allocated, s.reserved = s.allocated+r.Allocated, s.reserved+r.Reserved
		s.used, s.total = s.used+r.Used, s.total+r.Total
		if r.Sampled {
			s.sampled++
		}
	}
	var lines []string
	for _, k := range kinds {
		s := sums[k]
		sizes := fmt.Sprintf("allocated=%d reserved=%d used=%d total=%d",
			s.allocated, s.reserved, s.used, s.total)
		lines = append(lines, fmt.Sprintf("%d %s %s %q: %s sampled=%d",
			s.n, k.dialect, k.kind, k.name, sizes, s.sampled))
	}
	return lines
}

// verdictSchema is compiled once: a schema may be used by several tests at a time.
var verdictSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := schema.Get("verdict")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("verdict", doc); err != nil {
		return nil, err
	}
	return c.Compile("verdict")
})

// validVerdict holds what was printed against the published schema.
func validVerdict(text []byte) error {
	s, err := verdictSchema()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
