package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
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
