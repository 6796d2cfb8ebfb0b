package trace_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"vramsoak/pipeline/allocator/trace"
)

var (
	traces = flag.Int("oracle.traces", 200,
		"random traces to hold the model against the oracle with")
	events = flag.Int("oracle.events", 100_000, "operations of each")
	first  = flag.Uint64("oracle.first", 0, "seed of the first")
	keep   = flag.String("oracle.keep", "", "folder for the traces on which they differ; that of "+
		"the test's temporary files")
)

// A tally has counts for the traces that were replayed with one feature of the settings. identical
// counts the traces for which the model and the oracle printed the same.
type tally struct{ traces, events, ooms, retries, identical int64 }

// TestOracle: on random traces over all settings, the model prints what PyTorch's own allocator
// (the oracle) prints. make oracle runs it.
func TestOracle(t *testing.T) {
	if oracle == "" {
		t.Skip("not run: no oracle; make oracle builds it")
	}
	folder := *keep
	if folder == "" {
		folder = t.TempDir()
	}
	tallies := map[string]*tally{}
	for seed := *first; seed < *first+uint64(*traces); seed++ {
		settings, features := trace.Draw(seed)
		path := filepath.Join(folder, fmt.Sprintf("seed-%d.trace", seed))
		writeTrace(t, path, settings.Random(seed, *events))
		totals, stats, err := differOnFile(settings, path)
		if len(features) == 0 {
			features = []string{"defaults"}
		}
		for _, f := range append(slices.Clone(features), "all") {
			if tallies[f] == nil {
				tallies[f] = &tally{}
			}
			tallies[f].add(totals, stats.Retries, err)
		}
		if err == nil {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
			continue
		}
		t.Errorf("%s: %v\n  settings: %s\n  %s", at(path, err), err, strings.Join(features, ", "),
			reproduce(settings, path))
		if d, is := errors.AsType[*difference](err); is {
			short := strings.TrimSuffix(path, ".trace") + "-short.trace"
			minimize(t, settings, path, d.operation, short)
			t.Logf("the shortest trace with a difference: %s", reproduce(settings, short))
		}
	}
	printTable(t, tallies)
}

func (y *tally) add(totals trace.Totals, retries int64, err error) {
	y.traces++
	y.events += int64(totals.Events)
	y.ooms += int64(totals.OutOfMemory)
	y.retries += retries
	if err == nil {
		y.identical++
	}
}

// at returns the file and, if known, the line of the operation at which the outputs differ. In the
// file of a random trace, each operation has one line.
func at(path string, err error) string {
	if d, is := errors.AsType[*difference](err); is && d.operation > 0 {
		return fmt.Sprintf("%s:%d", path, d.operation)
	}
	return path
}

func printTable(t *testing.T, tallies map[string]*tally) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	lines := []string{"setting\ttraces\tevents\tout of memory\tretries\tidentical\t"}
	for _, name := range slices.Concat([]string{"defaults"}, trace.Features, []string{"all"}) {
		if y := tallies[name]; y != nil {
			lines = append(lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t", name, y.traces, y.events,
				y.ooms, y.retries, y.identical))
		}
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Error(err)
	}
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
}
