package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		Runs: []string{"a.log", "b.log", "c.log", "d.log", "e.log", "f.log"}, LeftOut: []string{"bad.log"},
		FalseAlarms: 0.001, Power: 0.9,
		Growth: []calibrate.Growth{
			{
				Check: check.Leak, Subject: check.IdleLevel, Limit: 192 << 10, Series: 6, Files: 50, Failed: 0, Unsure: 4, Noise: 20 << 20,
				Fired: calibrate.Rate{Count: 3, Of: 2000, Low: 0.00031, High: 0.00438}, Undecided: calibrate.Rate{Count: 1240, Of: 2000},
				Catches: new(1.3 * (1 << 20)), Enough: new(float64(896 << 10)), FilesToPass: 1120,
			},
			{
				Check: check.Fragmentation, Subject: check.UnusedReserve, Limit: 1 << 20, Series: 6, Files: 50,
				Fired: calibrate.Rate{Of: 2000, High: 0.001497}, Undecided: calibrate.Rate{Of: 2000}, Fine: true, Enough: new(1024.0),
			},
			{Check: check.DarkGrowth, Subject: check.DarkMemory, Limit: 1 << 20, Skipped: "no run has it"},
		},
		Regression: &calibrate.Regression{
			Pairs: calibrate.Rate{Count: 2, Of: 30, Low: 0.01, High: 0.71}, Undecided: 5, Shuffled: calibrate.Rate{Of: 2000, High: 0.001497},
			Metrics: []calibrate.Metric{
				{Name: "peak", Unit: check.Bytes, Base: 4 << 30, Limit: 43 << 20, Pairs: 30, Fired: 2, Undecided: 5, Catches: new(float64(60 << 20))},
				{Name: "recovery of \x1b[31m", Unit: check.Ratio, Device: 1, Base: 0.975, Limit: 0.00975, Pairs: 30, Catches: new(0.012), Enough: new(0.0)},
			},
		},
		Policy: []string{"leak: {max_growth: 896KiB}"},
	}
	want := `6 runs taken as clean: a.log, b.log, c.log, d.log and 2 more
left out, because they failed: bad.log; --all takes them too

leak, idle level: 6 series as they were: 0 failed, 4 undecided; would have fired in 3 of 2,000 tries (0.15 %, at most 0.44 %); ` +
		`catches a leak from 1.30 MiB a file on (in 90 % of cases); of clean runs 62 % would be undecided at the present limit, 192 KiB ` +
		`a file; about 1,120 files in one process, in place of 50, would decide 90 % of them; 896 KiB would do; noise: 20.0 MiB

fragmentation, reserved - allocated: 6 series as they were: 0 failed, 0 undecided; would have fired in 0 of 2,000 tries (below 0.15 %); ` +
		`catches no leak in 90 % of cases, however large; no clean run would be undecided at the present limit, 1.00 MiB a file; ` +
		`that limit does, and so would 1.00 KiB; no noise

dark-memory, dark memory: not tried: no run has it

regression: each run against each other one would have fired in 2 of 30 pairs (6.7 %, at most 71 %), and 5 of the others would be ` +
		`undecided; where files of the runs are exchanged by chance it would have fired in 0 of 2,000 tries (below 0.15 %)

Metric                              Usual           Limit  Pairs  Fired  Undecided  Shuffles fired      Catches from         Enough
peak                             4.00 GiB  43.0 MiB (1 %)     30      2          5               0  60.0 MiB (1.5 %)  too few files
recovery of \x1b[31m (device 1)    97.5 %      1.0 points     30      0          0               0        1.2 points     0.0 points

What this can tell: the tries are made of the noise of these 6 runs, so their rates hold for runs such as these. What fewer than ` +
		`one run in 6 does is not among them, and of the pairs only 3 are independent: by themselves they say that false alarms are at most 71 %.

For at most 0.1 % false alarms and 90 % of clean runs decided: no limit does for regression.
Proposed for at most 0.1 % false alarms and 90 % of clean runs decided, in a policy file (vramsoak.yaml):

leak: {max_growth: 896KiB}
`
	if diff := cmp.Diff(want, calibrationText(t, r)); diff != "" {
		t.Errorf("text differs (-want +got):\n%s", diff)
	}
}

// Where the present limits do, that is all that is proposed.
func TestCalibrationTextFine(t *testing.T) {
	got := calibrationText(t, &calibrate.Report{Runs: []string{"a.log", "b.log"}, FalseAlarms: 0.01, Power: 0.95})
	want := "\nThe present limits do for at most 1 % false alarms and 95 % of clean runs decided.\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("found\n%s\nwant the end %q", got, want)
	}
}
