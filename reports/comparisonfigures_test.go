package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/text"
)

// A figure is a printed number with half of its last digit.
type figure struct{ value, half float64 }

var figureForm = regexp.MustCompile(
	`^([+-]?[\d,.]+) (B|KiB|MiB|GiB|%|s|points|x real time|[KMG]?i?B/file)$`)

func readFigure(t *testing.T, s string) figure {
	t.Helper()
	m := figureForm.FindStringSubmatch(s)
	if m == nil {
		t.Fatalf("expected a figure, found %q", s)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	digits := 0
	if _, behind, ok := strings.Cut(m[1], "."); ok {
		digits = len(behind)
	}
	scale := map[string]float64{
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KiB/file": 1 << 10,
		"MiB/file": 1 << 20, "GiB/file": 1 << 30,
	}[m[2]]
	if scale == 0 {
		scale = 1
	}
	return figure{v * scale, math.Pow10(-digits) / 2 * scale}
}

// adds reports whether the printed change fits the printed base and the printed new value, within
// their digits.
func adds(base, now, change figure, share bool) bool {
	low, high := now.value-now.half-base.value-base.half, now.value+now.half-base.value+base.half
	if share {
		of := func(d, b float64) float64 { return 100 * d / math.Abs(b) }
		ends := []float64{
			of(low, base.value-base.half), of(low, base.value+base.half),
			of(high, base.value-base.half), of(high, base.value+base.half),
		}
		low, high = min(ends[0], ends[1], ends[2], ends[3]), max(ends[0], ends[1], ends[2], ends[3])
	}
	const arithmetic = 1e-9
	slack := change.half + arithmetic*math.Abs(now.value)
	return low-slack <= change.value && change.value <= high+slack
}

var movedForm = regexp.MustCompile(
	`(rose|fell) from (.+?) to (.+?), by (.+?) \((.+?)\); a usual file`)

// TestFiguresAddUp reads each row and each message of comparisons as a person does: the printed
// base and the printed change must give the printed new value.
func TestFiguresAddUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	rows, messages := 0, 0
	for range 150 {
		c := aRandomComparison(r)
		var b strings.Builder
		opts := text.Options{Width: 200, Verbose: true}
		if err := text.Comparison(&b, c, check.Fail, opts); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(b.String(), "\nVerdict ")
		for i, line := range strings.Split(table, "\n") {
			if i == 0 {
				continue
			}
			if line == "" {
				break
			}
			cells := regexp.MustCompile(` {2,}`).Split(line, -1)
			base, now := readFigure(t, cells[2]), readFigure(t, cells[3])
			if strings.HasPrefix(cells[4], "x ") { // the change is ten times or more
				continue
			}
			if !adds(base, now, readFigure(t, cells[4]),
				strings.HasSuffix(cells[4], "%") && base.value != 0) {
				t.Errorf("the figures do not add up: %s", line)
			}
			rows++
		}
		for i := range c.Changes {
			m := movedForm.FindStringSubmatch(c.Changes[i].Message)
			if m == nil {
				continue
			}
			base, now, by := readFigure(t, m[2]), readFigure(t, m[3]), readFigure(t, m[4])
			if (now.value > base.value) != (m[1] == "rose") {
				t.Errorf("the message has the wrong direction: %s", c.Changes[i].Message)
			}
			if m[1] == "fell" {
				by.value = -by.value
			}
			if !adds(base, now, by, false) ||
				!strings.HasPrefix(m[5], "x ") && !adds(base, now, readFigure(t, m[5]), true) {
				t.Errorf("the figures do not add up: %s", c.Changes[i].Message)
			}
			messages++
		}
	}
	if rows < 300 || messages < 100 {
		t.Errorf("only %d rows and %d messages: too few to prove the claim", rows, messages)
	}
}

// aRandomComparison compares two runs whose files differ much, so the change of the medians is not
// the change of a usual file.
func aRandomComparison(r *rand.Rand) *compare.Comparison {
	of := func(scale float64) *compare.Baseline {
		m := check.Measurements{}
		for i := range 15 {
			m.Files = append(m.Files, check.MeasuredFile{
				Path:  fmt.Sprintf("%d.wav", i),
				Index: i + 1,
			})
		}
		add := func(name, unit string, higher bool, value func() float64) {
			metric := check.Metric{Name: name, Unit: unit, HigherIsBetter: higher}
			for range m.Files {
				metric.Values = append(metric.Values, value())
			}
			m.Metrics = append(m.Metrics, metric)
		}
		size := math.Exp(10 + 12*r.Float64())
		skewed := func() float64 { return scale * size * (1 + r.ExpFloat64()) }
		add(check.IdleLevel, check.Bytes, false, skewed)
		add("peak", check.Bytes, false, func() float64 {
			return scale * 700 * (1 << 20) * (1 + 0.2*r.ExpFloat64())
		})
		add("recovery of Whisper Cleanup", check.Ratio, true, func() float64 {
			return 1 - 0.1*r.ExpFloat64()
		})
		add("seconds a file", check.Seconds, false, func() float64 {
			return scale * 12 * math.Exp(r.NormFloat64())
		})
		return compare.New(m, compare.RunInfo{})
	}
	seed := 0.5 + r.Float64()
	return compare.Runs(of(1), of(seed), check.DefaultPolicy())
}
