package check_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestGrowthAroundAStep: each file leaves 20 MiB, and file 40 leaves 400 MiB more. The step is not
// where the growth begins: it begins with the first file, at 1,024 + 20 MiB.
func TestGrowthAroundAStep(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := 1; i <= 60; i++ {
		level := 1024 + 20*i
		if i >= 40 {
			level += 400
		}
		fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n[GPU Memory] After File: Allocated: "+
			"%d.00MB\n[pipeline] file-end path=%d.wav status=ok\n", i, level, i)
	}
	tl, err := parser.Build(parser.Read(strings.NewReader(log.String()), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check != check.Leak {
			continue
		}
		if f.Verdict != check.Fail || f.File != 1 {
			t.Errorf("%s since file %d: %s", f.Verdict, f.File, f.Message)
		}
		for _, want := range []string{
			"grows by 20.0 MiB a file", "from 1.02 GiB to 2.56 GiB", // 1,044 and 2,624 MiB
			"apart from one step of 400 MiB at file 40 (40.wav)",
		} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("the message lacks %q: %s", want, f.Message)
			}
		}
	}
}

// TestFallAtTheBeginning: what is reserved and not allocated falls by 20 MiB in each of the first
// 15 files, and then stays. That is a fall, and no warm-up of -300 MiB.
func TestFallAtTheBeginning(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 40 {
		fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n[GPU Memory] After File: Allocated: "+
			"1000.00MB | Reserved: %d.00MB\n[pipeline] file-end path=%d.wav status=ok\n", i,
			5000-20*min(i, 15), i)
	}
	tl, err := parser.Build(parser.Read(strings.NewReader(log.String()), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Check == check.Fragmentation && (!strings.Contains(f.Message, ", after a fall of ") ||
			strings.Contains(f.Message, "warm-up")) {
			t.Errorf("the message is %q", f.Message)
		}
	}
}
