package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestVerdictNamesWhereItBegins: verdict.json has the stage, the first file and the line of a leak
// as fields, so that programs can read them.
func TestVerdictNamesWhereItBegins(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	log.WriteString("[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=24 feed=stdin version=v1 command=pipeline\n")
	held := int64(0)
	for i := 1; i <= 24; i++ {
		at := fmt.Sprintf("time=2026-11-20T02:%02d:00.000Z index=%d path=audio/%04d.wav", i, i, i)
		fmt.Fprintf(&log, "[vramsoak] file-start %s\n", at)
		level := func(name string, mib int64) {
			fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: %.2fGB | allocated=%d total=25769803776\n", name,
				float64(mib)/1024,
				mib<<20)
		}
		level("Before Diarization", 100+held)
		level("After Diarization", 100+held)
		level("Before Transcription", 100+held)
		if i >= 13 { // 50 MiB more in each file from here on
			held += 50
		}
		level("Before Whisper Cleanup", 200+held)
		level("After Whisper Cleanup", 100+held)
		level("After Transcription", 100+held)
		fmt.Fprintf(&log, "[vramsoak] file-end %s status=ok seconds=1.000\n", at)
	}
	log.WriteString("[vramsoak] run-end time=2026-11-20T03:00:00.000Z ok=24 seconds=3600\n")
	var out bytes.Buffer
	if err := judge(t, []byte(log.String())).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	type finding struct {
		Check, Stage string
		File         int
		FirstFile    *struct {
			Index int
			Path  string
		} `json:"first_file"`
		At *struct{ Line int }
	}
	var verdict struct{ Findings []finding }
	if err := json.Unmarshal(out.Bytes(), &verdict); err != nil {
		t.Fatal(err)
	}
	for _, f := range verdict.Findings {
		if f.Check != check.Leak {
			continue
		}
		if f.FirstFile == nil || f.At == nil {
			t.Fatalf("the leak has no first file or line:\n%s", out.String())
		}
		got := fmt.Sprintf("stage %q, file %d, first %+v, line %d", f.Stage, f.File, *f.FirstFile,
			f.At.Line)
		// Each file has eight lines, and its last checkpoint is the seventh of them.
		want := fmt.Sprintf("stage %q, file 13, first {Index:13 Path:audio/0013.wav}, line %d",
			"Transcription", 1+12*8+7)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("leak (-want +got):\n%s\n%s", diff, out.String())
		}
		return
	}
	t.Fatalf("verdict.json has no leak:\n%s", out.String())
}

// failed returns the finding of a check that fails in a log. The test fails unless there is one.
func failed(t *testing.T, log string, policy check.Policy, of string) check.Finding {
	t.Helper()
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	var found []check.Finding
	for _, f := range check.Of(tl, policy).Findings {
		if f.Check == of && f.Verdict == check.Fail {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d findings of %s fail, want 1", len(found), of)
	}
	return found[0]
}

// TestFailureNamesWhereItBegins: the finding on a failed allocation names the stage, the first file
// and the next command. The stage in which it fails has no After in that file. A stage of another
// rank, an earlier "Before" that begins nothing, and a stage that ended do not count.
func TestFailureNamesWhereItBegins(t *testing.T) {
	t.Parallel()
	const oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has " +
		"a total capacity of 24.00 GiB of which 1.20 GiB is free.\n"
	level := func(name string) string {
		return fmt.Sprintf("[GPU Memory] %s: Allocated: 1.00GB | allocated=1073741824 device=0\n", name)
	}
	start := func(i int) string {
		return fmt.Sprintf(
			"[vramsoak] file-start time=2026-11-20T02:00:0%d.000Z index=%d path=%d.wav\n", i, i, i)
	}
	end := func(i int, status string) string {
		return fmt.Sprintf("[vramsoak] file-end time=2026-11-20T02:00:0%d.500Z index=%d path=%d.wav "+
			"status=%s seconds=0.500\n", i, i, i, status)
	}
	whole := "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=2 feed=stdin version=v1 command=x\n" +
		start(1) + level("Before Setup") + level("Before Transcription") + level("Before Decode") +
		level("After Decode") + level("After Transcription") + end(1, "ok") + start(2)
	for name, tt := range map[string]struct{ file, stage, place string }{
		"in a stage": {level("Before Transcription"), "Transcription", ", in Transcription"},
		"in an inner stage": {
			level("Before Transcription") + level("Before Decode"), "Decode", ", in Decode",
		},
		"after an inner stage": {
			level("Before Transcription") + level("Before Decode") + level("After Decode"),
			"Transcription", ", in Transcription",
		},
		"in a stage that no file ends": {level("Before Setup"), "Setup", ", in Setup"},
		"after a Before that begins nothing": {
			level("Before Setup") + level("Model Load"), "", `, last at "Model Load"`,
		},
		"after a stage": {
			level("Before Transcription") + level("After Transcription"), "",
			`, last at "After Transcription"`,
		},
		"at the beginning": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := whole + tt.file + oom + end(2, "oom") +
				"[vramsoak] run-end time=2026-11-20T03:00:00.000Z ok=1 seconds=3600\n"
			f := failed(t, log, check.DefaultPolicy(), check.OutOfMemory)
			if f.Stage != tt.stage || f.FirstFile == nil || f.FirstFile.Index != 2 || f.At == nil ||
				f.At.Line != strings.Count(whole+tt.file, "\n")+1 {
				t.Errorf("%+v at %v, first file %+v, want stage %q in file 2", f, f.At, f.FirstFile, tt.stage)
			}
			want := "fatal in file 2 (2.wav)" + tt.place + ": asked for 2.00 GiB, 1.20 GiB were free; " +
				"run vramsoak plot LOG -o memory.png to see what led to it"
			if f.Message != want {
				t.Errorf("got %s\nwant %s", f.Message, want)
			}
		})
	}
}

// TestFragmentationNamesWhereItBegins: the findings on fragmentation name the stage, the first file
// and the next command. In files 13 to 24 the allocator reserves 50 MiB more in each Transcription,
// before the cleanup in it, and does not hand them out.
func TestFragmentationNamesWhereItBegins(t *testing.T) {
	t.Parallel()
	const next = "; to see which lines of a PyTorch program hold memory, record a snapshot " +
		"(docs/how-to/snapshot.md) and run vramsoak snapshot FILE.pickle"
	var log strings.Builder
	log.WriteString("[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=24 feed=stdin version=v1 command=x\n")
	unused := int64(50)
	for i := 1; i <= 24; i++ {
		at := fmt.Sprintf("time=2026-11-20T02:%02d:00.000Z index=%d path=audio/%04d.wav", i, i, i)
		fmt.Fprintf(&log, "[vramsoak] file-start %s\n", at)
		level := func(name string, mib int64) {
			fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: %.2fGB | allocated=%d peak=%d reserved=%d "+
				"total=25769803776\n", name, float64(mib)/1024, mib<<20, 200<<20, (mib+unused)<<20)
		}
		level("Before Diarization", 100)
		level("After Diarization", 100)
		level("Before Transcription", 100)
		if i >= 13 {
			unused += 50
		}
		level("Before Whisper Cleanup", 200)
		level("After Whisper Cleanup", 100)
		level("After Transcription", 100)
		fmt.Fprintf(&log, "[vramsoak] file-end %s status=ok seconds=1.000\n", at)
	}
	log.WriteString("[vramsoak] run-end time=2026-11-20T03:00:00.000Z ok=24 seconds=3600\n")

	f := failed(t, log.String(), check.DefaultPolicy(), check.Fragmentation)
	if f.Stage != "Transcription" || f.FirstFile == nil || f.FirstFile.Index != 13 {
		t.Errorf("stage %q, first file %+v; want Transcription and file 13", f.Stage, f.FirstFile)
	}
	want := "it is reserved between Before Transcription and Before Whisper Cleanup; "
	if !strings.Contains(f.Message, want) || !strings.HasSuffix(f.Message, next) {
		t.Errorf("got %s\nwant %s ... %s", f.Message, want, next)
	}

	// At the most, 200 MiB are allocated and 50 + 12 x 50 = 650 MiB more are reserved, first at the
	// Before of the cleanup in file 24: line 1 + 23 x 8 + 5. 650 of 850 MiB are 76.5 %.
	policy := check.DefaultPolicy()
	policy.Fragmentation.MaxShare = 0.2
	policy.MaxGrowth[check.UnusedReserve] = 1 << 30
	f = failed(t, log.String(), policy, check.Fragmentation)
	if f.Stage != "Transcription" || f.FirstFile == nil || f.FirstFile.Index != 24 ||
		f.At.Line != 190 {
		t.Errorf("stage %q, first file %+v, line %d; want Transcription, file 24, line 190", f.Stage,
			f.FirstFile, f.At.Line)
	}
	want = "76.5 % of it was never in use: reserved up to 850 MiB at Before Whisper Cleanup, " +
		"file 24 (0024.wav), in Transcription, but at most 200 MiB"
	if !strings.HasPrefix(f.Message, want) || !strings.HasSuffix(f.Message, next) {
		t.Errorf("got %s\nwant %s ... %s", f.Message, want, next)
	}
}
