package overfiles

import (
	"testing"

	"vramsoak/harness/check"
	"vramsoak/reports/plots"
)

// TestTheSame: the title of a panel names the other devices in few words.
func TestTheSame(t *testing.T) {
	for _, c := range []struct {
		subject string
		same    []string
		want    string
	}{
		{"idle level (device 0)", []string{"idle level (device 3)"}, " on device 3"},
		{"idle level (device 0)", []string{
			"idle level (device 1)", "idle level (device 2)", "idle level (device 3)",
			"idle level (device 5)", "idle level (device 7)", "idle level (device 8)",
		}, " on devices 1 to 3, 5, 7, 8"},
		{"memory of File", []string{"memory of Transcription"}, ": memory of Transcription"},
		{"idle level (rank 0, device 0)", []string{
			"idle level (rank 1, device 1)", "idle level (rank 2, device 2)",
			"idle level (rank 3, device 3)",
		}, " for 3 others"},
	} {
		if got := theSame(c.subject, c.same); got != c.want {
			t.Errorf("%v: got %q, want %q", c.same, got, c.want)
		}
	}
}

// TestSharesEndAtAll: the axis of shares does not go beyond 100 %, unless a cleanup freed more than
// it held.
func TestSharesEndAtAll(t *testing.T) {
	for _, c := range []struct {
		values []float64
		within bool
	}{{[]float64{1, 1, 1}, true}, {[]float64{0.97, 0.99, 0.98}, true}, {[]float64{1, 1.2, 1}, false}} {
		p := &panel{unit: check.Ratio, finding: check.Finding{Limit: new(0.01)}}
		for i, v := range c.values {
			p.files = append(p.files, plots.Point{X: float64(i), Y: v})
		}
		p.scale(0, 1)
		if (p.top <= 1) != c.within || p.bottom > min(c.values[0], c.values[2]) {
			t.Errorf("%v: the axis goes from %v to %v", c.values, p.bottom, p.top)
		}
	}
}

// TestHeadlineFirst: after the series that fail comes the one that the headline is about.
func TestHeadlineFirst(t *testing.T) {
	decisive := &check.Finding{Check: check.Recovery, Subject: "Model Cleanup (device 7)"}
	for _, c := range []struct {
		f    check.Finding
		want int
	}{
		{check.Finding{Verdict: check.Fail, Gates: true, Subject: "idle level"}, 2},
		{check.Finding{Verdict: check.Undecided, Subject: "recovery of Model Cleanup (device 7)"}, 1},
		{check.Finding{Verdict: check.Undecided, Subject: "recovery of Model Cleanup (device 1)"}, 0},
	} {
		if got := panelRank(c.f, decisive); got != c.want {
			t.Errorf("%s: got %d, want %d", c.f.Subject, got, c.want)
		}
	}
}
