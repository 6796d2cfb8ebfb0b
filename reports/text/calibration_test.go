package text_test

import (
	"strings"
	"testing"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/calibrate"
	"vramsoak/harness/check"
	"vramsoak/reports/text"
)

func calibrationText(t *testing.T, r *calibrate.Report) string {
	t.Helper()
	var out strings.Builder
	if err := text.Calibration(&out, r, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCalibrationText(t *testing.T) {
	r := &calibrate.Report{
		Runs:        []string{"a.log", "b.log", "c.log", "d.log", "e.log", "f.log"},
		LeftOut:     []string{"bad.log"},
		FalseAlarms: 0.001, Power: 0.9,
		Growth: []calibrate.Growth{
			{
				Check: check.Leak, Subject: check.IdleLevel, Limit: 192 << 10, Series: 6, Files: 50,
				Failed: 0, Unsure: 4, Noise: 20 << 20,
				Fired:     calibrate.Rate{Count: 3, Of: 2000, Low: 0.00031, High: 0.00438},
				Undecided: calibrate.Rate{Count: 1240, Of: 2000},
				Catches:   new(1.3 * (1 << 20)), Enough: new(float64(896 << 10)), FilesToPass: 1120,
			},
			{
				Check: check.Fragmentation, Subject: check.UnusedReserve, Limit: 1 << 20, Series: 6,
				Files:     50,
				Fired:     calibrate.Rate{Of: 2000, High: 0.001497},
				Undecided: calibrate.Rate{Of: 2000}, Fine: true, Enough: new(1024.0),
			},
			{
				Check: check.DarkGrowth, Subject: check.DarkMemory, Limit: 1 << 20,
				Skipped: "no run has it",
			},
		},
		Regression: &calibrate.Regression{
			Pairs: calibrate.Rate{Count: 2, Of: 30, Low: 0.01, High: 0.71}, Undecided: 5,
			Shuffled: calibrate.Rate{Of: 2000, High: 0.001497},
			Metrics: []calibrate.Metric{
				{
					Name: "peak", Unit: check.Bytes, Base: 4 << 30, Limit: 43 << 20, Pairs: 30,
					Fired: 2, Undecided: 5, Catches: new(float64(60 << 20)),
				},
				{
					Name: "recovery of \x1b[31m", Unit: check.Ratio, Device: 1, Base: 0.975,
					Limit: 0.00975, Pairs: 30, Catches: new(0.012), Enough: new(0.0),
				},
			},
		},
		Policy: []string{"leak: {max_growth: 896KiB}"},
	}
	golden.File(t, "testdata/calibration.txt", []byte(calibrationText(t, r)))
}

// If the present limits suffice, the report proposes nothing else.
func TestCalibrationTextFine(t *testing.T) {
	got := calibrationText(t, &calibrate.Report{
		Runs: []string{"a.log", "b.log"}, FalseAlarms: 0.01,
		Power: 0.95,
	})
	want := "\n" +
		"The present limits suffice for at most 1 % false alarms and 95 % of clean runs decided.\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("found\n%s\nwant the end %q", got, want)
	}
}
