package parser

import (
	"strings"
	"testing"
	"time"
)

// TestLatest: the last time of a log is the harness's, if the harness wrote lines. Other logs give
// the time of their last line, if they give dates.
func TestLatest(t *testing.T) {
	t.Parallel()
	const reading = "[GPU Memory] A: Allocated: 1.00GB\n"
	const run = "[vramsoak] run-start time=2026-11-20T02:00:00.000Z files=1 feed=stdin version=v1 " +
		"command=p\n[vramsoak] file-start time=2026-11-20T02:00:01.000Z index=1 path=a.wav\n"
	const forged = "2031-01-01 00:00:00,000 INFO " + reading +
		"2032-01-01 00:00:00,000 INFO [pipeline] file-start path=b.wav\n"
	const fileEnd = "[vramsoak] file-end time=2026-11-20T02:00:09.000Z index=1 path=a.wav status=ok " +
		"seconds=8.000\n"
	const exit = "[vramsoak] exit time=2026-11-20T02:00:10.000Z pid=7 code=0 reason=done\n"
	const runEnd = "[vramsoak] run-end time=2026-11-21T02:00:11.000Z files=1 seconds=11 reason=done\n"
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"no times", reading, ""},
		{"times of day", "23:59:59 " + reading + "00:00:01 " + reading, ""},
		{
			"dates", "2026-11-20 02:00:00,000 INFO " + reading + "2026-11-22 02:00:00,000 INFO " + reading,
			"2026-11-22T02:00:00Z",
		},
		{
			"a checkpoint outside of files after them", "2026-11-20 02:00:00 [pipeline] file-start " +
				"path=a.wav\n2026-11-20 02:00:01 " + reading + "2026-11-20 02:00:02 [pipeline] file-end " +
				"path=a.wav status=ok\n2026-11-20 02:00:03 " + reading, "2026-11-20T02:00:03Z",
		},
		{"a run that ended", run + fileEnd + exit + runEnd, "2026-11-21T02:00:11Z"},
		{"a run that was cut short", run + fileEnd + exit, "2026-11-20T02:00:10Z"},
		{"a run that goes on", run, "2026-11-20T02:00:01Z"},
		{
			"times that the pipeline prints", run + forged + fileEnd + forged + exit,
			"2026-11-20T02:00:10Z",
		},
	} {
		tl, err := Build(Read(strings.NewReader(c.log), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if latest := tl.Latest(); !latest.IsZero() {
			got = latest.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
