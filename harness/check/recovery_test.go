package check_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// reading returns a checkpoint line that prints its level, mib MiB, in bytes too. The text more
// comes at the end of the line.
func reading(name string, mib float64, more string) string {
	n := int64(mib * float64(record.MiB))
	return fmt.Sprintf("[GPU Memory] %s: Allocated: %.2fGB | allocated=%d%s\n", name, mib/1024, n,
		more)
}

func build(t *testing.T, log string) *timeline.Timeline {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Bad) > 0 {
		t.Fatal(tl.Bad[0])
	}
	return tl
}

// TestRecoveries compares what each cleanup and each stage of a file freed with values that were
// derived by hand from the levels. The comments give these levels in MiB.
func TestRecoveries(t *testing.T) {
	tl := build(t, ""+
		reading("Pipeline Initialization", 100, "")+
		reading("Before Transcription", 150, "")+
		reading("Before Waveform Cleanup", 7200, "")+ // the model stays
		reading("After Waveform Cleanup", 7150, "")+
		reading("Before Whisper Cleanup", 7150, "")+
		reading("After Whisper Cleanup", 850, "")+
		reading("After Transcription", 495, "")+
		reading("Before Cache Cleanup", 600, " holds=104857600")+
		reading("After Cache Cleanup", 580, "")+
		reading("Idle", 580, "")+
		reading("Before Final Cleanup", 580, "")+ // above the 495 that the stage left
		reading("After Final Cleanup", 410, "")+
		reading("Pipeline Initialization", 100, "")+
		reading("Before Model Cleanup", 900, "")+ // above the 100 at which the process began
		reading("After Model Cleanup", 104, ""))

	type recovered struct {
		File          int
		Name          string
		Stage         bool
		Before, After int
		Verdict       check.Verdict
		Freed, Held   float64 // MiB
		Percent       float64
		Nothing       bool
	}
	var got []recovered
	for _, r := range check.Of(tl, check.DefaultPolicy()).Recoveries {
		g := recovered{
			File: r.File.Index, Name: r.Name, Stage: r.Stage, Before: r.Before, After: r.After,
			Verdict: r.Verdict,
			Freed:   float64(r.Freed) / float64(record.MiB),
		}
		if r.Verdict != check.Skipped {
			g.Held, g.Percent, g.Nothing = float64(r.Held.Bytes)/float64(record.MiB),
				math.Round(1000*r.Share)/10, r.Nothing
		}
		if (r.Reason != "") != (r.Verdict == check.Skipped) {
			t.Errorf("%s is %s, and the reason is %q", r.Name, r.Verdict, r.Reason)
		}
		if !r.Nothing && r.Verdict != check.Skipped && (r.Low != r.Share || r.High != r.Share) {
			t.Errorf("%s: exact bytes allow %v to %v, want %v", r.Name, r.Low, r.High, r.Share)
		}
		got = append(got, g)
	}
	want := []recovered{
		{1, "Waveform Cleanup", false, 2, 3, check.Skipped, 50, 0, 0, false},
		// Freed of held: 7150 - 850 of 7150 - 150.
		{1, "Whisper Cleanup", false, 4, 5, check.Fail, 6300, 7000, 90, false},
		// Freed of held: 7200 - 495 of 7200 - 150.
		{1, "Transcription", true, 2, 6, check.Pass, 6705, 7050, 95.1, false},
		// Freed of held: 600 - 580 of the 100 that the pipeline prints with holds=.
		{1, "Cache Cleanup", false, 7, 8, check.Fail, 20, 100, 20, false},
		// Freed of held: 580 - 410 of 580 - 495.
		{1, "Final Cleanup", false, 10, 11, check.Pass, 170, 85, 200, false},
		// Freed of held: 900 - 104 of 900 - 100.
		{2, "Model Cleanup", false, 1, 2, check.Pass, 796, 800, 99.5, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recoveries (-want +got):\n%s", diff)
	}
}

// TestRecoveriesAfterAFailedOne: a cleanup is not blamed for what an earlier failed cleanup of the
// file left. The process begins at 100 MiB, and the comments derive each share from the levels.
func TestRecoveriesAfterAFailedOne(t *testing.T) {
	tl := build(t, ""+
		reading("Pipeline Initialization", 100, "")+
		reading("Before Whisper Cleanup", 8100, "")+
		reading("After Whisper Cleanup", 3100, "")+ // leaves 3000
		reading("Before Align Cleanup", 5100, "")+ // 2000 of its own
		reading("After Align Cleanup", 3100, "")+
		reading("Before Final Cleanup", 3100, "")+ // nothing to free after a good cleanup
		reading("After Final Cleanup", 3100, "")+
		reading("Pipeline Initialization", 3100, "")+
		reading("Before Whisper Cleanup", 11100, "")+ // 11000 since the process began
		reading("After Whisper Cleanup", 3100, "")+
		reading("Before Align Cleanup", 5100, "")+
		reading("After Align Cleanup", 3600, "")+
		reading("Pipeline Initialization", 100, "")+ // what was left is gone
		reading("Before Whisper Cleanup", 8100, "")+
		reading("After Whisper Cleanup", 1100, ""))
	var got []string
	for _, r := range check.Of(tl, check.DefaultPolicy()).Recoveries {
		got = append(got, fmt.Sprintf("file %d: %s %s, freed %s of %s (%.1f %%)", r.File.Index, r.Name,
			r.Verdict, record.FormatBytes(r.Freed), r.Held, 100*r.Share))
	}
	mib := func(n int64) string { return record.FormatBytes(n * record.MiB) }
	want := []string{
		fmt.Sprintf("file 1: Whisper Cleanup fail, freed %s of %s (62.5 %%)", mib(5000), mib(8000)),
		fmt.Sprintf("file 1: Align Cleanup pass, freed %s of %s (100.0 %%)", mib(2000), mib(2000)),
		fmt.Sprintf("file 1: Final Cleanup pass, freed %s of %s (100.0 %%)", mib(0), mib(0)),
		fmt.Sprintf("file 2: Whisper Cleanup fail, freed %s of %s (72.7 %%)", mib(8000), mib(11000)),
		fmt.Sprintf("file 2: Align Cleanup fail, freed %s of %s (75.0 %%)", mib(1500), mib(2000)),
		fmt.Sprintf("file 3: Whisper Cleanup fail, freed %s of %s (87.5 %%)", mib(7000), mib(8000)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recoveries (-want +got):\n%s", diff)
	}
}

// TestRecoveryNamesWhatWasLeft: the message says what the share does not count. The first cleanup
// leaves 3000 MiB, and the second frees 1000 of its own 2000.
func TestRecoveryNamesWhatWasLeft(t *testing.T) {
	tl := build(t, ""+
		reading("Pipeline Initialization", 100, "")+
		reading("Before Whisper Cleanup", 8100, "")+
		reading("After Whisper Cleanup", 3100, "")+
		reading("Before Align Cleanup", 5100, "")+
		reading("After Align Cleanup", 4100, ""))
	want := map[string]string{
		"Whisper Cleanup": "freed 4.88 GiB of 7.81 GiB (62.5 %) in file 1; under 95.0 % in 1 file; " +
			"61.7 % of all that was allocated, (before - after) / before",
		"Align Cleanup": "freed 1000 MiB of 1.95 GiB (50.0 %) in file 1; under 95.0 % in 1 file; " +
			"without the 2.93 GiB that an earlier failed cleanup left; 19.6 % of all that was " +
			"allocated, (before - after) / before",
	}
	got := map[string]string{}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.Recovery {
			got[f.Subject] = f.Message
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestRecoveriesBesideAFailedOne: a cleanup is not blamed for what a failed stage left, and not
// excused by a cleanup that ends after it. The comments derive the shares from the levels.
func TestRecoveriesBesideAFailedOne(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		want      []string
	}{
		{
			"a stage", "" +
				reading("Before Transcription", 100, "") +
				reading("Before Whisper Cleanup", 8100, "") +
				reading("After Whisper Cleanup", 3100, "") +
				reading("After Transcription", 3100, "") + // freed 5000 of 8000
				reading("Before Align Cleanup", 5100, "") +
				reading("After Align Cleanup", 3100, ""), // freed 2000 of its own 2000
			[]string{
				"Whisper Cleanup fail 62.5 %", "Transcription fail 62.5 %",
				"Align Cleanup pass 100.0 %",
			},
		},
		{
			"nested", "" +
				reading("Pipeline Initialization", 100, "") +
				reading("Before Outer Cleanup", 4100, "") +
				reading("Before Inner Cleanup", 4100, "") +
				reading("After Inner Cleanup", 3100, "") + // freed 1000 of 4000
				reading("After Outer Cleanup", 3000, ""), // freed 1100 of 4000
			[]string{"Inner Cleanup fail 25.0 %", "Outer Cleanup fail 27.5 %"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range check.Of(build(t, tt.log), check.DefaultPolicy()).Recoveries {
				got = append(got, fmt.Sprintf("%s %s %.1f %%", r.Name, r.Verdict, 100*r.Share))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("recoveries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecoveriesOfLanes: each device is judged by its own levels, and the recoveries have the order
// of the log.
func TestRecoveriesOfLanes(t *testing.T) {
	tl := build(t, ""+
		reading("Before Model Cleanup", 1000, " device=0")+
		reading("Before Model Cleanup", 2000, " device=1")+
		reading("After Model Cleanup", 1000, " device=1")+
		reading("After Model Cleanup", 10, " device=0"))
	var got []string
	for _, r := range check.Of(tl, check.DefaultPolicy()).Recoveries {
		got = append(got, fmt.Sprintf("device %d: %s, %.1f %%", r.Lane.Device, r.Verdict, 100*r.Share))
	}
	if diff := cmp.Diff([]string{"device 1: fail, 50.0 %", "device 0: pass, 99.0 %"},
		got); diff != "" {
		t.Errorf("recoveries (-want +got):\n%s", diff)
	}
}

// TestRecoveryAfterRecovery: a cleanup outside of stages need not free what the cleanup before it
// left. The model's cleanup frees 990 of the 1000 MiB since the start and leaves 110. The cache's
// cleanup then frees 198 of 310 - 110 = 200 MiB, which is 99 %. Measured from the start, it would
// have had to free 210 MiB.
func TestRecoveryAfterRecovery(t *testing.T) {
	tl := build(t, ""+
		reading("Pipeline Initialization", 100, "")+
		reading("Before Model Cleanup", 1100, "")+
		reading("After Model Cleanup", 110, "")+
		reading("Before Cache Cleanup", 310, "")+
		reading("After Cache Cleanup", 112, ""))
	var got []string
	for _, r := range check.Of(tl, check.DefaultPolicy()).Recoveries {
		got = append(got, fmt.Sprintf("%s: %s, %.1f %%", r.Name, r.Verdict, 100*r.Share))
	}
	if diff := cmp.Diff([]string{"Model Cleanup: pass, 99.0 %", "Cache Cleanup: pass, 99.0 %"},
		got); diff != "" {
		t.Errorf("recoveries (-want +got):\n%s", diff)
	}
}

// TestRecoveryIsUndecidedForBoth: levels with two digits leave two explanations open. A fall from
// 5.85 GB to 0.38 GB may or may not free 95 % of the 5.75 GB above the start. So either the
// waveform's cleanup failed, or the model merely stayed.
func TestRecoveryIsUndecidedForBoth(t *testing.T) {
	rep := check.Of(build(t, `[GPU Memory] Pipeline Initialization: Allocated: 0.10GB
[GPU Memory] Before Waveform Cleanup: Allocated: 5.85GB
[GPU Memory] After Waveform Cleanup: Allocated: 5.80GB
[GPU Memory] Before Model Cleanup: Allocated: 5.80GB
[GPU Memory] After Model Cleanup: Allocated: 0.38GB
`), check.DefaultPolicy())
	var got []check.Verdict
	for _, r := range rep.Recoveries {
		got = append(got, r.Verdict)
	}
	if !slices.Equal(got, []check.Verdict{check.Skipped, check.Undecided}) ||
		rep.Verdict != check.Undecided {
		t.Errorf("the report is %s, its cleanups %v; want the waveform's skipped, the rest undecided",
			rep.Verdict, got)
	}
}
