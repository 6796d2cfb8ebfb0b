package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vramsoak/parser"
	"vramsoak/parser/timeline"
)

// lanes returns the report on a log of n devices with one cleanup each. The cleanups of the devices
// from the number `fails` on free nothing.
func lanes(tb testing.TB, n, fails int) *Report {
	tb.Helper()
	var b strings.Builder
	for i := range n {
		left := 0
		if i >= fails {
			left = 1
		}
		fmt.Fprintf(&b,
			"[GPU Memory] Before Model Cleanup: Allocated: 1.00GB | allocated=1073741824 device=%d\n", i)
		fmt.Fprintf(&b, "[GPU Memory] After Model Cleanup: Allocated: %d.00GB | allocated=%d device=%d\n",
			left, left<<30, i)
	}
	j := New(DefaultPolicy())
	builder := parser.Builder{Builder: timeline.Builder{Done: func(f *timeline.File) { j.Add(f) }}}
	if err := builder.Read(strings.NewReader(b.String()), "x.log"); err != nil {
		tb.Fatal(err)
	}
	return j.Report(builder.Timeline())
}

// TestOthers: all of 5,000 devices are judged. The report lists some of them, and counts the rest
// in a finding such as "4,744 others".
func TestOthers(t *testing.T) {
	t.Parallel()
	const n = 5000
	for _, tt := range []struct {
		fails   int // the first device whose cleanup fails
		verdict Verdict
		counts  map[Verdict]int
		others  map[Verdict]string
	}{
		{n, Pass, map[Verdict]int{Pass: MostAlike + 1}, map[Verdict]string{Pass: "4,744 others"}},
		{
			n - 1, Fail,
			map[Verdict]int{Pass: MostAlike + 1, Fail: 1},
			map[Verdict]string{Pass: "4,743 others"},
		},
		{
			n - 256, Fail,
			map[Verdict]int{Pass: MostAlike + 1, Fail: MostAlike},
			map[Verdict]string{Pass: "4,488 others"},
		},
		{0, Fail, map[Verdict]int{Fail: MostAlike + 1}, map[Verdict]string{Fail: "4,744 others"}},
	} {
		rep := lanes(t, n, tt.fails)
		if rep.Verdict != tt.verdict {
			t.Errorf("cleanups fail from device %d on: got %s, want %s", tt.fails, rep.Verdict, tt.verdict)
		}
		counts, others := map[Verdict]int{}, map[Verdict]string{}
		for _, f := range rep.Findings {
			if f.Check != Recovery {
				continue
			}
			counts[f.Verdict]++
			if strings.HasSuffix(f.Subject, " others") {
				others[f.Verdict] = f.Subject
			}
		}
		if fmt.Sprint(counts) != fmt.Sprint(tt.counts) || fmt.Sprint(others) != fmt.Sprint(tt.others) {
			t.Errorf("cleanups fail from device %d on: got %v %v, want %v %v", tt.fails, counts, others,
				tt.counts, tt.others)
		}
		// A finding that joins the report later is counted with the rest, too.
		if before := len(rep.Findings); tt.fails == 0 {
			rep.Join(Finding{Check: Recovery, Verdict: Fail, Subject: "one more"})
			if len(rep.Findings) != before || !strings.Contains(fmt.Sprint(rep.Findings), "4,745 others") {
				t.Errorf("got %d findings after one more, want %d with 4,745 others", len(rep.Findings), before)
			}
		}
	}
}

// BenchmarkLanes prints how many times as long four times as many devices take. If the time is
// linear, the result is 4.
func BenchmarkLanes(b *testing.B) {
	const n = 5000
	took := func(n int) time.Duration {
		begin := time.Now()
		lanes(b, n, n)
		return time.Since(begin)
	}
	var one, four time.Duration
	for b.Loop() {
		one += took(n)
		four += took(4 * n)
	}
	b.ReportMetric(float64(four)/float64(one), "times-for-4n")
}
