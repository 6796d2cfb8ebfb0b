package compare_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// aRun returns a run over 40 files. The levels of file n are given in MiB.
func aRun(idle, peak, ofWhisper, ofDiarization func(n int) float64) *compare.Baseline {
	values := func(of func(int) float64) check.Values {
		all := make(check.Values, 40)
		for n := range all {
			all[n] = of(n) * (1 << 20)
		}
		return all
	}
	m := check.Measurements{Metrics: []check.Metric{
		{Name: check.IdleLevel, Unit: check.Bytes, Values: values(idle)},
		{Name: "peak", Unit: check.Bytes, Values: values(peak)},
		{Name: "peak of Whisper", Unit: check.Bytes, Values: values(ofWhisper)},
		{Name: "peak of Diarization", Unit: check.Bytes, Values: values(ofDiarization)},
	}}
	for n := range 40 {
		m.Files = append(m.Files, check.MeasuredFile{Index: n + 1, Process: 1})
	}
	return &compare.Baseline{Measurements: m}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	at := func(level, each float64) func(int) float64 {
		return func(n int) float64 { return level + each*float64(n) }
	}
	base := aRun(at(1000, 0), at(5000, 0), at(5000, 0), at(3000, 0))
	const growth = "growth of idle level"
	for name, tt := range map[string]struct {
		now  *compare.Baseline
		want map[string]string
	}{
		"a leak lifts every peak": {
			aRun(at(1000, 20), at(5000, 20), at(5000, 20), at(3000, 20)),
			map[string]string{
				growth: "", "idle level": growth, "peak": growth, "peak of Whisper": growth,
				"peak of Diarization": growth,
			},
		},
		"a level that stays higher lifts every peak": {
			aRun(at(1500, 0), at(5500, 0), at(5500, 0), at(3500, 0)),
			map[string]string{
				"idle level": "", "peak": "idle level", "peak of Whisper": "idle level",
				"peak of Diarization": "idle level",
			},
		},
		"one stage needs more": {
			aRun(at(1000, 0), at(6000, 0), at(6000, 0), at(3000, 0)),
			map[string]string{"peak": "peak of Whisper", "peak of Whisper": ""},
		},
		"one stage needs more than the higher level explains": {
			aRun(at(1100, 0), at(6000, 0), at(6000, 0), at(3100, 0)),
			map[string]string{
				"idle level": "", "peak": "peak of Whisper", "peak of Whisper": "",
				"peak of Diarization": "idle level",
			},
		},
	} {
		got := map[string]string{}
		for _, c := range compare.Runs(base, tt.now, check.DefaultPolicy()).Changes {
			if c.Verdict == check.Fail {
				got[c.Subject()] = c.Cause
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
