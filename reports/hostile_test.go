package reports_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/junit"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/text"
)

func TestHostileXML(t *testing.T) {
	tl, rep := timelines.Hostile()
	var out bytes.Buffer
	if err := junit.Write(&out, tl, rep); err != nil {
		t.Fatal(err)
	}
	timelines.WellFormedXML(t, out.Bytes())
	opts := plots.Options{Width: 800, Height: 450}
	recovered := map[*timeline.File][]check.Recovered{}
	for _, r := range rep.Recoveries {
		recovered[r.File] = append(recovered[r.File], r)
	}
	sketch := memory.NewSketch(opts)
	for f := range tl.InOrder() {
		sketch.Add(f, recovered[f])
	}
	for _, format := range plots.Formats {
		var out bytes.Buffer
		if err := sketch.Chart(tl, rep).Plot(&out, format, opts); err != nil {
			t.Fatal(err)
		}
		if format == "svg" {
			timelines.WellFormedXML(t, out.Bytes())
		}
	}
}

func TestHostileText(t *testing.T) {
	tl, rep := timelines.Hostile()
	ours := regexp.MustCompile("\x1b\\[(0|2|31|32|33)m")
	for _, opts := range []text.Options{
		{},
		{Terminal: true, Width: 80},
		{Terminal: true, Width: 200, Color: true},
	} {
		var out bytes.Buffer
		if err := text.Report(&out, tl, rep, opts); err != nil {
			t.Fatal(err)
		}
		if s := ours.ReplaceAllString(out.String(), ""); !utf8.ValidString(s) ||
			strings.ContainsAny(s, "\x00\x1b\r\t\u202e") {
			t.Errorf("control characters got through to %+v: %q", opts, s)
		}
	}
}
