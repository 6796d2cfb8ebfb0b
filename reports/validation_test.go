package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
)

// aValidation is a batch that fails by fragmentation, with a profile, a live run, a change of each kind and a hostile name.
func aValidation() (*Validation, *check.Report) {
	v := &Validation{
		Answer: DoesNotFit, Scenario: "long batch\x1b[31m", Card: "RTX 5080", Total: mib(16303), Files: 200, Failed: 148, FirstFailed: 53, Speed: 47.5,
		Stages: []StageNeed{
			{
				Stage: "Enrollment", Reached: true, File: 31, Need: gib(14), Share: float64(gib(14)) / float64(mib(16303)), Allocated: gib(13), Reserved: gib(15), Used: gib(15) + mib(480),
				Parts: []Part{
					{"weights of asr", mib(2941)}, {"tensors: buffers", gib(4)}, {"context", mib(480)}, {"mel", mib(3)}, {"voices", mib(5)},
				},
			},
			{Stage: "Transcription", Reached: true, File: 12, Need: gib(9), Allocated: gib(9), Share: float64(gib(9)) / float64(mib(16303)), Measured: true, Parts: []Part{{"measured", gib(9)}}},
		},
		Headroom:      mib(1903),
		Fragmentation: &FragmentedEnd{Files: 52, First: mib(20), Last: gib(2), Most: gib(3), PerFile: 40 << 20, LargestFree: mib(700)},
		Retry:         21,
		Failure: &Refusal{
			File: 53, Stage: "Enrollment", What: "tensors: buffers", Requested: gib(2), FreeInSum: gib(3), LargestFree: mib(1200),
			Fragmentation: true, Picture: "vramsoak simulate long.yaml | vramsoak plot --fragmentation - -o map.png", Message: "CUDA out of memory. Tried to allocate 2.00 GiB.",
		},
		Smallest: &Change{
			Kind: "allocator setting", Answer: Fits, Files: 200, Need: gib(13), Share: 0.81, Speed: 46, Cost: "nothing",
			Edits: []Edit{{
				At: "long.yaml:7:30", Key: "env.PYTORCH_CUDA_ALLOC_CONF", Old: "max_split_size_mb:64", New: "expandable_segments:True",
				Export: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
			}},
		},
		Others: []Change{
			{Kind: "batch", Cost: "throughput", Answer: Fits, Files: 200, Need: gib(11), Share: 0.69, Speed: 40, Edits: []Edit{{At: "long.yaml:20:12", Key: "stages[1].batch", Old: "32", New: "9"}}},
			{Kind: "restart", Cost: "time to load the models", Answer: Tight, Files: 200, Need: gib(14), Share: 0.88, Speed: 44, Edits: []Edit{{At: "long.yaml:1:1", Key: "restart_every", Old: "none", New: "52", Add: "restart_every: 52"}}},
		},
		Simulations: 31,
		Footprints: []Footprint{
			{Stage: "Enrollment", Estimated: gib(14), Used: "estimated", Note: "the profile has no such stage"},
			{Stage: "Transcription", Measured: gib(9), Estimated: gib(8), Ratio: 1.125, Used: "measured"},
		},
		Live: []Footprint{{Stage: "Transcription", Measured: gib(9), Estimated: gib(9), Ratio: 1, Used: "estimated"}},
	}
	r := &check.Report{Policy: check.DefaultPolicy(), Verdict: check.Fail, Findings: []check.Finding{
		{Check: check.OutOfMemory, Verdict: check.Fail, Subject: "allocations", Message: "148 of 200 files ran out of memory", Gates: true},
		{Check: check.Recovery, Verdict: check.Pass, Subject: "Whisper Cleanup", Message: "fine", Gates: true},
	}}
	return v, r
}

// TestValidation writes a validation in every form. UPDATE=1 rewrites the goldens; read the difference before you keep it.
func TestValidation(t *testing.T) {
	v, r := aValidation()
	fits, pass := *v, &check.Report{Verdict: check.Pass}
	fits.Answer, fits.Failed, fits.Retry, fits.Failure, fits.Smallest, fits.Others, fits.Footprints, fits.Live = Fits, 0, 0, nil, nil, nil, nil, nil
	none := *v
	none.Smallest, none.Others = nil, nil
	full := none
	full.Failure = &Refusal{File: 1, Stage: "Data", What: "data", Requested: gib(2), FreeInSum: gib(1), LargestFree: gib(1), Missing: gib(1), Parts: []Part{{"context", mib(480)}, {"data", gib(13)}}}
	full.Smallest = &Change{
		Kind: "clear policy and pipeline's code", Cost: "time, work", Answer: Tight, Files: 200, Need: gib(14), Share: 0.875, Speed: 40,
		Edits: []Edit{
			{At: "long.yaml:9:8", Key: "clear.every", Old: "none", New: "5", Add: "every: 5", Under: "clear"},
			{At: "long.yaml:60:5", Key: "faults[0]", Old: "{keep: asr}", New: "none"},
		},
	}
	unsure := full
	unsure.Larger = &LargerCard{Card: "24 GB", UpTo: "80 GB", Share: 0.58}
	unsure.Smallest = &Change{
		Kind: "batch", Cost: "throughput", Answer: Unsure, Files: 200, Need: gib(12), Share: 0.75, Speed: 40, Timeless: true,
		Why: "fragmentation of reserved - allocated is undecided", Edits: v.Others[0].Edits,
	}
	unsure.Others = []Change{v.Others[0], v.Others[1]}
	unsure.Others[0].Timeless = true
	unsure.Notes = []string{"leak, idle level: two steps up look like growth in leaps"}
	table := &CardTable{
		Scenario: "speech", Files: 50, Replaced: "asr", Cards: []string{"8 GB", "16 GB"}, Models: []string{"whisper-base", "whisper-large-v3"},
		Cells: [][]CardFit{{{"tight", 0.87}, {"no", 0}}, {{"plenty", 0.43}, {"tight", 0.88}}},
	}
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"plain.txt":       func(w *bytes.Buffer) error { return ValidationText(w, v, r, TextOptions{}) },
		"terminal-80.txt": func(w *bytes.Buffer) error { return ValidationText(w, v, r, TextOptions{Terminal: true, Width: 80}) },
		"terminal-140.txt": func(w *bytes.Buffer) error {
			return ValidationText(w, v, r, TextOptions{Terminal: true, Width: 140})
		},
		"fits.txt":             func(w *bytes.Buffer) error { return ValidationText(w, &fits, pass, TextOptions{}) },
		"full.txt":             func(w *bytes.Buffer) error { return ValidationText(w, &full, r, TextOptions{}) },
		"no-change.txt":        func(w *bytes.Buffer) error { return ValidationText(w, &none, r, TextOptions{}) },
		"undecided-change.txt": func(w *bytes.Buffer) error { return ValidationText(w, &unsure, r, TextOptions{}) },
		"table.txt": func(w *bytes.Buffer) error {
			return CardTableText(w, table, TextOptions{Terminal: true, Width: 80})
		},
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := filepath.Join("testdata", "validation", name)
		if golden.Updating() {
			golden.Rewrite(t, path, out.Bytes())
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; run UPDATE=1 go test ./reports", err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
