package overfiles

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/fixtures"
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
// text. With PICTURES=DIR it writes them, as make docs-pictures does.
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
			if dir := os.Getenv("PICTURES"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, file), fewColours(t, &out),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
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

// fewColours returns a PNG with 16 levels of each colour and a palette, which is a quarter of the
// size.
func fewColours(t *testing.T, data *bytes.Buffer) []byte {
	t.Helper()
	full, err := png.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	level := func(v uint32) uint8 { return uint8((v>>8 + 8) / 17 * 17) }
	few := image.NewPaletted(full.Bounds(), nil)
	place := map[color.NRGBA]uint8{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			r, g, b, _ := full.At(x, y).RGBA()
			c := color.NRGBA{R: level(r), G: level(g), B: level(b), A: 0xFF}
			if _, known := place[c]; !known {
				place[c] = uint8(len(place))
				few.Palette = append(few.Palette, c)
			}
			few.SetColorIndex(x, y, place[c])
		}
	}
	var out bytes.Buffer
	// a palette has at most 256 colours
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
