package parser

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

// TestEarlyEnd: a reader gets what the harness wrote of a run that --fail-fast ended. After a
// resume, that no longer counts.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	at := record.Header{Time: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)}
	early := record.EarlyEnd{
		Header: at, Look: 2, Files: 32, Lines: 97, Check: "leak", Subject: "idle level (device 1)",
		Found: "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB), and goes on",
	}
	log := string(record.RunStart{Header: at, Files: 60, FailFast: true}.AppendLine(nil)) + "\n" +
		string(early.AppendLine(nil)) + "\n" +
		string(record.RunEnd{Header: at, Files: 34, Reason: record.FailFast}.AppendLine(nil)) + "\n"
	tl, err := Build(Read(strings.NewReader(log), "soak.log"))
	if err != nil {
		t.Fatal(err)
	}
	run := tl.Runs[0]
	if !run.Start.FailFast || run.End == nil || run.End.Reason != record.FailFast || run.Early == nil {
		t.Fatalf("run %+v", run)
	}
	got := *run.Early
	got.Header = at
	if diff := cmp.Diff(early, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	log += string(record.Resume{Header: at, Index: 35, Reason: record.FailFast}.AppendLine(nil)) + "\n"
	if tl, err = Build(Read(strings.NewReader(log), "soak.log")); err != nil {
		t.Fatal(err)
	}
	if run := tl.Runs[0]; run.Early != nil || run.End != nil || !run.Start.FailFast {
		t.Errorf("after the resume: %+v", run)
	}
}
