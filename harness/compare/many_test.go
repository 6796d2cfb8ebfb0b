package compare

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// manyDevices returns a run of n files on many devices. Each file has a device of its own, except
// that every eighth device has a second file.
func manyDevices(tb testing.TB, n int) *Baseline {
	tb.Helper()
	var log strings.Builder
	for i := range n {
		device := i
		if i%8 == 7 {
			device = i - 1
		}
		fmt.Fprintf(&log, "[vramsoak] file-start index=%d path=%d.wav\n", i+1, i)
		for k, name := range []string{"Before Model Cleanup", "After Model Cleanup"} {
			fmt.Fprintf(&log,
				"[GPU Memory] %s: Allocated: %d.00GB | allocated=%d reserved=2147483648 device=%d\n",
				name, 1-k, (1-k)<<30, device)
		}
		fmt.Fprintf(&log, "[vramsoak] file-end index=%d status=ok seconds=1\n", i+1)
	}
	b := parser.Builder{}
	if err := b.Read(strings.NewReader(log.String()), "run.log"); err != nil {
		tb.Fatal(err)
	}
	return New(*check.Of(b.Timeline(), check.DefaultPolicy()).Measured, RunInfo{})
}

// TestComparingManyIsLinear: each file is on a device of its own. Twice as many files then have
// twice as many values, and take twice the memory to compare and to write.
func TestComparingManyIsLinear(t *testing.T) { // not parallel: it measures allocations
	policy := check.DefaultPolicy()
	allocated := func(b *Baseline) (bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := Runs(b, New(b.Measurements, b.Run), policy)
		report := &check.Report{Policy: policy}
		report.Join(c.Findings("")...)
		if err := b.WriteJSON(io.Discard); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	values := func(b *Baseline) (n int) {
		for _, m := range b.Metrics {
			n += len(m.Values)
		}
		return n
	}
	const n = 400
	one, two := manyDevices(t, n), manyDevices(t, 2*n)
	// The metric "seconds" has one value per file. Each of 5 other metrics has one or two values per
	// device.
	if got, want := values(two), 2*values(one); got != want || got > 6*2*n {
		t.Errorf("%d values of %d files, expected twice the %d of half as many, and at most %d", got, 2*n,
			want/2, 6*2*n)
	}
	a, b := allocated(one), allocated(two)
	t.Logf("%d and %d bytes", a, b)
	if b > a*5/2 {
		t.Errorf("%d bytes for %d files on as many devices, expected at most 2.5 times the %d of half "+
			"as many", b, 2*n, a)
	}
}

// TestLanesAreFoundOnce: whether subjects name the device is computed once for the metrics and once
// for their growth, not once for each subject.
func TestLanesAreFoundOnce(t *testing.T) {
	t.Parallel()
	b := manyDevices(t, 24)
	c := Runs(b, b, check.DefaultPolicy())
	found := map[*lanes]int{}
	growths := 0
	for i := range c.Changes {
		found[c.Changes[i].lanes]++
		if strings.HasPrefix(c.Changes[i].Name, check.GrowthOf) {
			growths++
		}
	}
	if growths < 20 || len(found) > 2 { // of the metrics, and of the growths
		t.Errorf("found out %d times for %d metrics, %d of them growths, expected 2 at most", len(found),
			len(c.Changes), growths)
	}
	if got := c.Changes[len(c.Changes)-1].Subject(); got != "growth of idle level (device 22)" {
		t.Errorf("subject %q, expected the device", got)
	}
}
