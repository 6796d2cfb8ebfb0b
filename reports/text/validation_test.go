package text

import (
	"bytes"
	"path/filepath"
	"testing"

	"vramsoak/fixtures/golden"
	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/validation"
)

// aValidation returns the report on a batch that fails because of fragmentation. It has a profile,
// a live run, a change of each kind and a hostile name.
func aValidation() *validation.Report {
	v := &validation.Report{
		Answer: validation.DoesNotFit, Scenario: "long batch\x1b[31m", Card: "RTX 5080",
		Total: timelines.MiB(16303), Files: 200, Failed: 148, FirstFailed: 53, Speed: 47.5,
		Stages: []validation.StageNeed{
			{
				Stage: "Enrollment", Reached: true, File: 31, Need: timelines.GiB(14),
				Share:     float64(timelines.GiB(14)) / float64(timelines.MiB(16303)),
				Allocated: timelines.GiB(13), Reserved: timelines.GiB(15),
				Used: timelines.GiB(15) + timelines.MiB(480),
				Parts: []validation.Part{
					{What: "weights of asr", Bytes: timelines.MiB(2941)},
					{What: "tensors: buffers", Bytes: timelines.GiB(4)},
					{What: "context", Bytes: timelines.MiB(480)},
					{What: "mel", Bytes: timelines.MiB(3)},
					{What: "voices", Bytes: timelines.MiB(5)},
				},
			},
			{
				Stage: "Transcription", Reached: true, File: 12, Need: timelines.GiB(9),
				Allocated: timelines.GiB(9),
				Share:     float64(timelines.GiB(9)) / float64(timelines.MiB(16303)),
				Measured:  true,
				Parts:     []validation.Part{{What: "measured", Bytes: timelines.GiB(9)}},
			},
		},
		Headroom: timelines.MiB(1903),
		Fragmentation: &validation.FragmentedEnd{
			Files: 52, First: timelines.MiB(20),
			Last: timelines.GiB(2), Most: timelines.GiB(3), PerFile: 40 << 20,
			LargestFree: timelines.MiB(700),
		},
		Retry: 21,
		Retries: []validation.Retries{
			{From: 1, To: 13},
			{From: 14, To: 26, Count: 3},
			{From: 27, To: 39, Count: 20},
			{From: 40, To: 53, Count: 41},
		},
		Failure: &validation.Refusal{
			File: 53, Stage: "Enrollment", What: "tensors: buffers", Requested: timelines.GiB(2),
			FreeInSum: timelines.GiB(3), LargestFree: timelines.MiB(1200),
			Kept:          []validation.Part{{What: "clips", Bytes: timelines.MiB(1500)}},
			Fragmentation: true, Picture: "vramsoak simulate long.yaml | vramsoak plot " +
				"--fragmentation - -o map.png", Message: "CUDA out of memory. Tried to allocate " +
				"2.00 GiB.",
		},
		Smallest: &validation.Change{
			Kind: "allocator setting", Result: validation.Result{
				Answer: validation.Fits,
				Files:  200, Need: timelines.GiB(13), Share: 0.81, Speed: 46,
			}, Cost: "nothing",
			Edits: []validation.Edit{{
				At:  validation.Location{Path: "long.yaml", Line: 7, Column: 30},
				Key: "env.PYTORCH_CUDA_ALLOC_CONF", Old: "max_split_size_mb:64",
				New:    "expandable_segments:True",
				Export: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
			}},
		},
		Others: []validation.Change{
			{
				Kind: "batch", Cost: "throughput",
				Result: validation.Result{
					Answer: validation.Fits, Files: 200,
					Need: timelines.GiB(11), Share: 0.69, Speed: 40,
				},
				Edits: []validation.Edit{{At: validation.Location{
					Path: "long.yaml", Line: 20,
					Column: 12,
				}, Key: "stages[1].batch", Old: "32", New: "9"}},
			},
			{
				Kind: "restart", Cost: "time to load the models",
				Result: validation.Result{
					Answer: validation.Tight, Files: 200,
					Need: timelines.GiB(14), Share: 0.88, Speed: 44,
				},
				Edits: []validation.Edit{{
					At: validation.Location{
						Path: "long.yaml", Line: 1,
						Column: 1,
					}, Key: "restart_every", Old: "none", New: "52",
					Add: "restart_every: 52",
				}},
			},
		},
		Simulations: 31,
		Footprints: []profile.Comparison{
			{
				Stage: "Enrollment", Estimated: timelines.GiB(14), Used: "estimated",
				Note: "the profile has no such stage",
			},
			{
				Stage: "Transcription", Measured: timelines.GiB(9), Estimated: timelines.GiB(8),
				Ratio: 1.125, Used: "measured",
			},
		},
		Live: []profile.Comparison{{
			Stage: "Transcription", Measured: timelines.GiB(9),
			Estimated: timelines.GiB(9), Ratio: 1, Used: "estimated",
		}},
	}
	v.Checks = &check.Report{
		Policy: check.DefaultPolicy(), Verdict: check.Fail,
		Findings: []check.Finding{
			{
				Check: check.OutOfMemory, Verdict: check.Fail, Subject: "allocations",
				Message: "148 of 200 files ran out of memory", Gates: true,
			},
			{
				Check: check.Recovery, Verdict: check.Fail, Subject: "Diarization Cleanup", Gates: true,
				Message: "20.0 % came back; some of it is held", Measured: new(0.2), Limit: new(0.95),
				Unit: check.Ratio,
			},
			{
				Check: check.Recovery, Verdict: check.Pass, Subject: "Whisper Cleanup",
				Message: "fine",
				Gates:   true,
			},
		},
	}
	return v
}

// TestValidation writes a validation in every form. UPDATE=1 rewrites the goldens; read the
// difference before you keep it.
func TestValidation(t *testing.T) {
	v := aValidation()
	fits := *v
	fits.Checks = &check.Report{Verdict: check.Pass}
	fits.Answer, fits.Failed, fits.Retry, fits.Retries = validation.Fits, 0, 0, nil
	fits.Failure, fits.Smallest, fits.Others, fits.Footprints, fits.Live = nil, nil, nil, nil, nil
	none := *v
	none.Smallest, none.Others = nil, nil
	full := none
	full.Failure = &validation.Refusal{
		File: 1, Stage: "Data", What: "data",
		Requested: timelines.GiB(2), FreeInSum: timelines.GiB(1), LargestFree: timelines.GiB(1),
		Missing: timelines.GiB(1),
		Parts: []validation.Part{
			{What: "context", Bytes: timelines.MiB(480)},
			{What: "data", Bytes: timelines.GiB(13)},
		},
	}
	full.Smallest = &validation.Change{
		Kind: "clear policy and pipeline's code", Cost: "time, work",
		Result: validation.Result{
			Answer: validation.Tight, Files: 200, Need: timelines.GiB(14),
			Share: 0.875, Speed: 40,
		},
		Edits: []validation.Edit{
			{
				At: validation.Location{Path: "long.yaml", Line: 9, Column: 8}, Key: "clear.every",
				Old: "none", New: "5", Add: "every: 5", Under: "clear",
			},
			{
				At: validation.Location{Path: "long.yaml", Line: 60, Column: 5}, Key: "faults[0]",
				Old: "{keep: asr}", New: "none",
			},
		},
	}
	unsure := full
	unsure.Larger = &validation.LargerCard{Card: "24 GB", UpTo: "80 GB", Share: 0.58}
	unsure.Smallest = &validation.Change{
		Kind: "batch", Cost: "throughput", Result: validation.Result{
			Answer: validation.Unsure,
			Files:  200, Need: timelines.GiB(12), Share: 0.75, Speed: 40,
			Why: "fragmentation of reserved - allocated is undecided",
		},
		Timeless: true, Edits: v.Others[0].Edits,
	}
	unsure.Others = []validation.Change{v.Others[0], v.Others[1]}
	unsure.Others[0].Timeless = true
	unsure.Notes = []string{"leak, idle level: two steps up look like growth in leaps"}
	table := &validation.Table{
		Scenario: "speech", Files: 50, Replaced: "asr", Cards: []string{"8 GB", "16 GB"},
		Models: []string{"whisper-base", "whisper-large-v3"},
		Cells: [][]validation.Fit{
			{{Word: "tight", Share: 0.87}, {Word: "no", Share: 0}},
			{{Word: "plenty", Share: 0.43}, {Word: "tight", Share: 0.88}},
		},
	}
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"plain.txt": func(w *bytes.Buffer) error { return Validation(w, v, Options{}) },
		"terminal-80.txt": func(w *bytes.Buffer) error {
			return Validation(w, v, Options{Terminal: true, Width: 80})
		},
		"terminal-140.txt": func(w *bytes.Buffer) error {
			return Validation(w, v, Options{Terminal: true, Width: 140})
		},
		"fits.txt": func(w *bytes.Buffer) error {
			return Validation(w, &fits, Options{})
		},
		"full.txt": func(w *bytes.Buffer) error {
			return Validation(w, &full, Options{})
		},
		"no-change.txt": func(w *bytes.Buffer) error {
			return Validation(w, &none, Options{})
		},
		"undecided-change.txt": func(w *bytes.Buffer) error {
			return Validation(w, &unsure, Options{})
		},
		"table.txt": func(w *bytes.Buffer) error {
			return Cards(w, table, Options{Terminal: true, Width: 80})
		},
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden.File(t, filepath.Join("testdata", "validation", name), out.Bytes())
	}
}

func TestPressure(t *testing.T) {
	for _, c := range []struct {
		retries []validation.Retries
		want    string
	}{
		{
			[]validation.Retries{{From: 1, To: 7}, {From: 8, To: 15, Count: 1}},
			"pressure: once, in files 8 to 15, an allocation failed at first, and the allocator released " +
				"its cache and tried again",
		},
		{
			[]validation.Retries{{From: 1, To: 1, Count: 3}, {From: 2, To: 2}},
			"pressure: 3 times, in file 1, an allocation failed at first, and the allocator released its " +
				"cache and tried again",
		},
		{
			[]validation.Retries{{From: 1, To: 1, Count: 1}, {From: 2, To: 3}, {From: 4, To: 5, Count: 2}},
			"pressure: 3 times an allocation failed at first, and the allocator released its cache and " +
				"tried again: 1 in file 1, 2 in files 4 to 5",
		},
	} {
		if got := pressure(&validation.Report{Retries: c.retries}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestHeadlineNamesSizeOnce: a card of 11.51 GiB is named by its size already.
func TestHeadlineNamesSizeOnce(t *testing.T) {
	v := &validation.Report{Scenario: "a", Card: "11.5 GiB", Total: 12358768394, Files: 2}
	if got, want := validationHeadline(v), "a on 11.5 GiB, 2 files"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoNegativeHeadroom: the headline says how much more the batch needs than the card has.
func TestNoNegativeHeadroom(t *testing.T) {
	v := aValidation()
	v.Failure.Recovered, v.Headroom = true, -timelines.MiB(77)
	var out bytes.Buffer
	if err := Validation(&out, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("headroom: ")) {
		t.Errorf("got a headroom below 0:\n%s", &out)
	}
}
