package overshards

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/harness/pool"
	"vramsoak/harness/shape"
	"vramsoak/reports/plots"
)

const mib = 1 << 20

// runOf returns a judged run of so many shards. Shard n grows by n MiB a file, with a standard
// error of 1 MiB, and fails if it is the last one. At most 4 MiB a file are allowed.
func runOf(shards int) *merge.Judged {
	rep := check.NewMerged(check.DefaultPolicy(), time.Time{})
	rep.Files, rep.Checkpoints = 40*shards, 80*shards
	rep.Shards = &check.ShardCount{Count: shards, Complete: shards, Nodes: 1}
	rep.Join(check.Finding{
		Check: check.Leak, Subject: check.IdleLevel, Verdict: check.Fail, Unit: check.BytesPerFile,
		Measured: new(float64(shards * mib)), Limit: new(4.0 * mib), Message: "grows",
		Shard: shards, Node: "n1", InShards: 1,
	})
	run := &merge.Judged{
		Report: rep,
		Series: []merge.Series{{
			Check: check.Leak, Subject: check.IdleLevel, Unit: check.Bytes, Limit: 4 * mib, Gates: true,
		}},
		Pooled: []pool.Ledger{{
			Check: check.Leak, Name: check.IdleLevel, Unit: check.Bytes, Limit: 4 * mib,
			Result: pool.Result{Mean: shape.Interval{
				Estimate: 10 * mib, Low: 9 * mib, High: 11 * mib,
			}},
		}},
	}
	for n := 1; n <= shards; n++ {
		v := check.Undecided
		if n == shards {
			v = check.Fail
		}
		run.Shards = append(run.Shards, merge.State{
			Number: n, Node: "n1", Name: "x", Verdict: v, Growths: []merge.ShardGrowth{{
				Files: 40, Verdict: v, Slope: float64(n * mib), Error: mib,
			}},
		})
	}
	return run
}

var svgText = regexp.MustCompile(`<text [^>]*>([^<]*)</text>`)

// wordsOf returns the texts of a plot as SVG.
func wordsOf(t *testing.T, run *merge.Judged, opts plots.Options) []string {
	t.Helper()
	var out bytes.Buffer
	if err := New(run).Plot(&out, "svg", opts); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range svgText.FindAllStringSubmatch(out.String(), -1) {
		words = append(words, m[1])
	}
	return words
}

// TestWords: of 100 shards, the 24 that grow most have a row, the most first. The others share a
// band. The growth of all together has its interval.
func TestWords(t *testing.T) {
	t.Parallel()
	words := strings.Join(wordsOf(t, runOf(100), plots.Options{}), "\n")
	for _, want := range []string{
		"FAIL: leak 100 MiB/file in shard 100 on node n1", "FAIL: leak, idle level in 100 shards",
		"all shards together: 10.0 MiB a file (95 %: 9.00 MiB to 11.0 MiB); allowed: 4.00 MiB/file",
		"shard 100, n1\nshard 99, n1\n", "\nshard 77, n1\n76 others\nall shards",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the plot lacks %q:\n%s", want, words)
		}
	}
	if strings.Contains(words, "shard 76, n1") {
		t.Error("shard 76 has a row of its own, want 24 rows")
	}
}

// TestBounded: the plot of 10,000 shards has less than 100 kB, as that of 1,000. A plot of any size
// has room for what it draws.
func TestBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 10_000} {
		var out bytes.Buffer
		if err := New(runOf(n)).Plot(&out, "svg", plots.Options{}); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 100_000 {
			t.Errorf("the plot of %d shards has %d bytes", n, out.Len())
		}
	}
	for _, opts := range []plots.Options{
		{Width: 600, Height: plots.MinHeight}, {Width: 600}, {Height: 2000},
	} {
		for _, n := range []int{1, 30, 1000} {
			for _, format := range plots.Formats {
				var out bytes.Buffer
				if err := New(runOf(n)).Plot(&out, format, opts); err != nil {
					t.Errorf("%d shards as %s of %+v: %v", n, format, opts, err)
				}
			}
		}
	}
}

// TestWithoutInterval: a growth without an interval, a name with control characters, and a run
// without growth.
func TestWithoutInterval(t *testing.T) {
	t.Parallel()
	run := runOf(3)
	run.Shards[0].Growths[0].Error = math.Inf(1)
	run.Shards[1].Growths[0].Slope = math.NaN()
	run.Shards[2].Node = "\x1b[2J</text><script>"
	run.Pooled = nil
	words := fmt.Sprint(wordsOf(t, run, plots.Options{}))
	if !strings.Contains(words, "shard 1, n1") || strings.Contains(words, "shard 2,") ||
		strings.ContainsAny(words, "\x1b<") {
		t.Errorf("the plot has the words %q", words)
	}
	run.Shards = run.Shards[:0]
	if err := New(run).Plot(&bytes.Buffer{}, "png", plots.Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("a run without growth: %v", err)
	}
}
