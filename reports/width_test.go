package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/fixtures/golden"
	"vramsoak/reports/text"
)

// TestWidths: no line of a report is wider than the terminal or, in a pipe, than 100 columns.
func TestWidths(t *testing.T) {
	for _, glob := range []string{"testdata/*.txtar", "../fixtures/check/*.txtar"} {
		golden.Each(t, glob, func(t *testing.T, c golden.Case) {
			if c.Part("run.log") == nil {
				t.Skip("the case has several logs")
			}
			tl, rep := readCase(t, c)
			for _, opts := range []text.Options{
				{},
				{Width: 60},
				{Terminal: true, Width: 40},
				{Terminal: true, Width: 60},
				{Terminal: true, Width: 80},
				{Terminal: true, Width: 120},
			} {
				for _, opts.Verbose = range []bool{false, true} {
					var out bytes.Buffer
					if err := text.Report(&out, tl, rep, opts); err != nil {
						t.Fatal(err)
					}
					checkWidth(t, out.String(), opts)
				}
			}
		})
	}
}

// checkWidth fails the test for the first line that is wider than the options allow.
func checkWidth(t *testing.T, out string, opts text.Options) {
	t.Helper()
	most := opts.Width
	if most == 0 {
		most = 100
	}
	for line := range strings.Lines(out) {
		if width := twwidth.Width(strings.TrimRight(line, "\n")); width > most {
			t.Errorf("%s: a line has %d columns, expected at most %d: %q", fmt.Sprintf("%+v", opts), width,
				most, line)
			return
		}
	}
}
