package overfiles

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/fixtures/pictures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser"
	"vramsoak/reports/plots"
)

// A docsPicture is a picture of docs/explanation/growth.md.
type docsPicture struct {
	name    string
	spec    fixtures.LevelSpec
	verdict check.Verdict
	shape   shape.Shape
	growing bool
}

var docsPictures = []docsPicture{
	{
		"grows",
		fixtures.LevelSpec{Kind: "white", Files: 60, Sigma: 5, Growth: 4, Start: 20, Seed: 4},
		check.Fail, shape.Flat, true,
	},
	{
		"flat",
		fixtures.LevelSpec{Kind: "outliers", Files: 60, Sigma: 2, Seed: 4},
		check.Pass,
		shape.Flat, false,
	},
	{
		"warm-up",
		fixtures.LevelSpec{Kind: "warm-up", Files: 60, Sigma: 2, Seed: 4},
		check.Pass,
		shape.WarmUp, false,
	},
	{
		"step",
		fixtures.LevelSpec{Kind: "step", Files: 60, Sigma: 2, Seed: 4},
		check.Pass, shape.Step,
		false,
	},
	{
		"steps",
		fixtures.LevelSpec{Kind: "step", Files: 60, Sigma: 2, Growth: 5, Every: 40, Seed: 36},
		check.Undecided, shape.Steps, false,
	},
	{
		"sawtooth",
		fixtures.LevelSpec{Kind: "sawtooth-10", Files: 60, Sigma: 2, Seed: 3},
		check.Pass,
		shape.Sawtooth, false,
	},
	{
		"audio",
		fixtures.LevelSpec{Kind: "audio", Files: 60, Sigma: 5, Seed: 8},
		check.Undecided,
		shape.Flat, false,
	},
	{
		"noise",
		fixtures.LevelSpec{Kind: "white", Files: 20, Sigma: 20, Growth: 1, Seed: 6},
		check.Undecided, shape.Flat, false,
	},
	{
		"digits",
		fixtures.LevelSpec{Kind: "white", Files: 20, Growth: 0.3, Digit: 10.24, Seed: 3},
		check.Undecided, shape.Flat, false,
	},
}

// TestDocsPictures draws the pictures of docs/explanation/growth.md and compares them with the
// text, and with the pictures that the page shows.
func TestDocsPictures(t *testing.T) {
	text, err := os.ReadFile("../../../docs/explanation/growth.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range docsPictures {
		t.Run(p.name, func(t *testing.T) {
			rep := p.judged(t)
			trend := &rep.Trends[0]
			if r := &trend.Result; trend.Finding.Verdict != p.verdict || r.Shape != p.shape ||
				r.Growing != p.growing {
				t.Errorf("%s, %s, growing %v, want %s, %s, growing %v: %s", trend.Finding.Verdict,
					r.Shape, r.Growing, p.verdict, p.shape,
					p.growing, trend.Finding.Message)
			}
			file := "over-files-" + p.name + ".png"
			if !strings.Contains(string(text), "/pictures/"+file+")") {
				t.Errorf("docs/explanation/growth.md does not show %s", file)
			}
			var out bytes.Buffer
			if err := New(rep).Plot(&out, "png", plots.Options{Width: 640}); err != nil {
				t.Fatal(err)
			}
			pictures.Check(t, "../../../docs/pictures/"+file, out.Bytes())
		})
	}
}

// judged returns the report on the picture's log.
func (p docsPicture) judged(t *testing.T) *check.Report {
	t.Helper()
	levels := fixtures.Levels(p.spec)
	var log bytes.Buffer
	if err := levels.WriteLog(&log); err != nil {
		t.Fatal(err)
	}
	tl, err := parser.Build(parser.Read(&log, "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	rep := check.Of(tl, check.DefaultPolicy())
	if len(rep.Trends) == 0 {
		t.Fatalf("%s: no finding is on levels over files: %+v", p.name, rep.Findings)
	}
	return rep
}
