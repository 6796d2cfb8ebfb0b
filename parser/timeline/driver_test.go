package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// driverLog returns the timeline of a run that is given in short notation. In this notation, "S
// MILLISECONDS PID DEVICE SOURCE USED" is a sample, "C MILLISECONDS" is a checkpoint with a time,
// and "C" is a checkpoint without a time.
func driverLog(t *testing.T, lines string) (*timeline.Timeline, []*record.Checkpoint) {
	t.Helper()
	var log strings.Builder
	log.WriteString(
		"[vramsoak] run-start time=2026-11-20T02:00:00.000Z\n" +
			"[vramsoak] file-start time=2026-11-20T02:00:00.000Z index=1 path=a\n",
	)
	stamp := func(ms int) string {
		return fmt.Sprintf("2026-11-20T02:00:%02d.%03dZ", ms/1000, ms%1000)
	}
	for line := range strings.Lines(lines) {
		var ms, pid, device int
		var source string
		var used int64
		switch {
		case strings.HasPrefix(line, "S"):
			if _, err := fmt.Sscanf(
				line,
				"S %d %d %d %s %d",
				&ms,
				&pid,
				&device,
				&source,
				&used,
			); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&log,
				"[vramsoak] sample time=%s pid=%d device=%d used=%d total=1000 source=%s rss=1\n", stamp(ms),
				pid, device, used, source)
		case line == "C\n":
			log.WriteString("[GPU Memory] After: Allocated: 1.00GB\n")
		default:
			if _, err := fmt.Sscanf(line, "C %d", &ms); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&log, "%s [GPU Memory] After: Allocated: 1.00GB\n", stamp(ms))
		}
	}
	tl, err := parser.Build(parser.Read(strings.NewReader(log.String()), "run.log"))
	if err != nil || len(tl.Bad) > 0 {
		t.Fatal(err, tl.Bad)
	}
	var all []*record.Checkpoint
	for _, c := range tl.All() {
		all = append(all, c)
	}
	return tl, all
}

func TestDriverLedgers(t *testing.T) {
	for _, test := range []struct {
		name, log string
		want      []string // a range for each checkpoint, or "-"
	}{
		{
			"between the two samples around",
			"S 100 7 0 process 30\nC 150\nS 200 7 0 process 50\nC 210\nC 290\nS 300 7 0 process 20\n",
			[]string{"30-50", "20-50", "20-50"},
		},
		{
			"equal samples are exact",
			"S 100 7 0 process 30\nC 150\nS 200 7 0 process 30\n",
			[]string{"30-30"},
		},
		{
			"an odd difference is inside of the range",
			"S 100 7 0 process 30\nC 150\nS 200 7 0 process 31\n",
			[]string{"30-32"},
		},
		{
			"without a time, by its place",
			"S 100 7 0 process 30\nC\nS 200 7 0 process 50\nC\nS 300 7 0 process 20\n",
			[]string{"30-50", "20-50"},
		},
		{
			"printed late, its time counts",
			"S 100 7 0 process 30\nS 200 7 0 process 50\nS 300 7 0 process 20\nC 150\n" +
				"S 400 7 0 process 10\n",
			[]string{"30-50"},
		},
		{
			"printed early, its time counts",
			"S 100 7 0 process 30\nC 250\nS 200 7 0 process 50\nS 300 7 0 process 20\n",
			[]string{"20-50"},
		},
		{
			"no sample before or after",
			"C 50\nS 100 7 0 process 30\nS 200 7 0 process 50\nC 250\n",
			[]string{"-", "-"},
		},
		{
			"a sample that is far away",
			"S 100 7 0 process 30\nC 150\nS 1200 7 0 process 30\nS 1300 7 0 process 30\nC 2350\n" +
				"S 2400 7 0 process 30\n",
			[]string{"-", "-"},
		},
		{
			"samples of two processes",
			"S 100 7 0 process 30\nC 150\nS 200 8 0 process 50\n",
			[]string{"-"},
		},
		{
			"another device's",
			"S 100 7 0 process 30\nS 100 7 1 process 90\nC 150\nS 200 7 0 process 30\n" +
				"S 200 7 1 process 90\n",
			[]string{"30-30"},
		},
		{
			"the only device, by another number",
			"S 100 7 3 process 30\nC 150\nS 200 7 3 process 30\n",
			[]string{"30-30"},
		},
		{
			"one of two devices by other numbers",
			"S 100 7 3 process 30\nS 100 7 4 process 30\nC 150\nS 200 7 3 process 30\n" +
				"S 200 7 4 process 30\n",
			[]string{"-"},
		},
		{
			"before the process has a context",
			"S 100 7 0 device 900\nC 120\nS 150 7 0 device 900\nS 200 7 0 process 30\nC 250\n" +
				"S 300 7 0 process 30\n",
			[]string{"-", "30-30"},
		},
		{
			"a device that tells no processes apart",
			"S 100 7 0 device 900\nC 120\nS 150 7 0 device 910\n",
			[]string{"900-910"},
		},
		{
			"a clock that goes back",
			"S 900 7 0 process 30\nC\nS 100 7 0 process 50\nC 150\nS 200 7 0 process 40\n",
			[]string{"-", "40-50"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tl, checkpoints := driverLog(t, test.log)
			ledger := timeline.NewDriverLedgers(tl, []record.Lane{{}}).OfLane(0, record.Lane{})
			for i, c := range checkpoints {
				got := "-"
				if ledger != nil {
					if used, ok := ledger.At(c.Header); ok {
						got = fmt.Sprintf("%d-%d", used.Bytes-used.Resolution, used.Bytes+used.Resolution)
					}
				}
				if i >= len(test.want) || got != test.want[i] {
					t.Errorf("checkpoint %d: found %s, want %v", i+1, got, test.want)
				}
			}
		})
	}
	tl, _ := driverLog(t, "S 100 7 3 process 30\n")
	two := []record.Lane{{}, {Device: 3}}
	b := timeline.NewDriverLedgers(tl, two)
	if b.OfLane(0, two[0]) != nil || timeline.NewDriverLedgers(tl, two[:1]).OfLane(1, two[0]) != nil ||
		b.OfLane(0, two[1]) == nil {
		t.Error("want a ledger of device 3 in run 0, and none of another device or run")
	}
	ranks := []record.Lane{{Device: 3}, {Device: 3, Rank: 1}}
	b = timeline.NewDriverLedgers(tl, ranks)
	if device, ok := b.DeviceNumber(0, ranks[0]); b.OfLane(0, ranks[0]) != nil || !ok || device != 3 {
		t.Error("want the device of two ranks that share it, and no ledger for one of them")
	}
}
