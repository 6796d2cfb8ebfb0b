package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// TestLearnerKeepsNoCheckpoints: if the parser drops the checkpoints of each file after Add, the
// profile is the same as a profile learned from all checkpoints at the end. Only the memory in use
// on the device is looked up at the end, when all samples are known.
func TestLearnerKeepsNoCheckpoints(t *testing.T) {
	t.Parallel()
	const files = timeline.KeptCheckpoints / 4 * 5 / 2 // most files' checkpoints are dropped
	var log strings.Builder
	clock := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	tick := func() string {
		clock = clock.Add(100 * time.Millisecond)
		return clock.Format(record.TimeLayout)
	}
	sample := func() {
		fmt.Fprintf(&log, "[vramsoak] sample time=%s pid=7 device=0 used=%d total=25769803776 "+
			"source=process\n",
			tick(), 3<<30+clock.UnixMilli()%1000<<20)
	}
	log.WriteString("[vramsoak] run-start files=1 feed=list\n")
	sample()
	for i := range files {
		seconds := 10 + i%50
		fmt.Fprintf(&log, "[vramsoak] file-start time=%s index=%d path=%d.wav audio_seconds=%d\n",
			tick(), i+1, i, seconds)
		for k, name := range []string{
			"Before Transcription", "Work",
			"After Transcription", "End",
		} {
			allocated := 100 + k%2*seconds
			fmt.Fprintf(&log, "%s [GPU Memory] %s: Allocated: %.2fGB | allocated=%d reserved=%d "+
				"total=25769803776 device=0\n",
				tick(), name, float64(allocated)/1024, allocated<<20, 2<<30)
		}
		sample()
		status := "ok"
		if i%10 == 9 {
			status = "failed"
		}
		fmt.Fprintf(&log, "[vramsoak] file-end time=%s index=%d path=%d.wav status=%s seconds=1\n",
			tick(), i+1, i, status)
	}
	read := func(b *parser.Builder) *timeline.Timeline {
		if err := b.Read(strings.NewReader(log.String()), "run.log"); err != nil {
			t.Fatal(err)
		}
		return b.Timeline()
	}
	want, err := Learn(read(&parser.Builder{}))
	if err != nil {
		t.Fatal(err)
	}
	l := Learner{}
	tl := read(&parser.Builder{Builder: timeline.Builder{Done: l.Add}})
	if last := tl.Files[files-1]; len(last.Checkpoints) > 0 {
		t.Fatalf("the last file kept %d checkpoints, expected none", len(last.Checkpoints))
	}
	got, err := l.Profile(tl)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("learned file by file (-at the end +file by file):\n%s", diff)
	}
	if want.Contexts < files/2 || len(want.Stages) != 1 || want.Stages[0].PerSecond == 0 {
		t.Errorf("%d contexts, stages %+v, expected the device's use of most files, and a stage "+
			"that grows with the length",
			want.Contexts, want.Stages)
	}
}
