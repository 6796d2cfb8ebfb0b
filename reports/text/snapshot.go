package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// SnapshotOptions say how much of a memory snapshot to show.
type SnapshotOptions struct {
	Top    int  // rows of each table; 0 for all
	Stacks bool // whole stacks below the sites
}

// Snapshot writes the analysis of a memory snapshot: totals, failed allocations, the sites that
// hold memory, the memory that was never freed, the sites that pin free memory, and the peak.
func Snapshot(
	w io.Writer, devices []*snapshot.Analysis, show SnapshotOptions, opts Options,
) error {
	t := snapshotWriter{Writer: bufio.NewWriter(NewFolder(w, opts)), opts: show}
	for i, a := range devices {
		if i > 0 {
			t.line("")
		}
		t.totals(a)
		if a.Trace != nil {
			t.failures(a.Trace)
		}
		t.usages("What holds memory now", a.Holds, a.Totals.Active)
		if a.Trace != nil && a.Trace.Allocations > 0 {
			t.kept(a.Trace)
		}
		t.free(a.Free)
		if a.Trace != nil && a.Trace.Allocations > 0 {
			t.peak(a.Trace)
		}
	}
	return t.Flush()
}

type snapshotWriter struct {
	*bufio.Writer
	opts SnapshotOptions
}

// line writes a line. An error of the writer comes back from Flush.
func (t snapshotWriter) line(format string, args ...any) {
	_, _ = fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t snapshotWriter) totals(a *snapshot.Analysis) {
	head := fmt.Sprintf("Device %d: ", a.Device)
	switch tr := a.Trace; {
	case tr == nil || tr.Allocations == 0:
		head += "no history of allocations in the file; " +
			"torch.cuda.memory._record_memory_history() records one"
	default:
		head += wording.Plural(tr.Events, "event")
		if tr.Micros > 0 {
			head += " in " + seconds(tr.Micros)
		}
		if tr.StartReserved > 0 {
			head += "; the history begins with " + record.FormatBytes(tr.StartReserved) +
				" held already"
		}
		if tr.Unexplained > 0 {
			head += "; not explained by its segments: " + wording.Plural(tr.Unexplained, "event")
		}
	}
	t.line("%s", head)
	sums := a.Totals
	row := func(name string, bytes int64, what string) {
		t.line("  %-15s %10s  %s", name, record.FormatBytes(bytes), what)
	}
	row("reserved", sums.Reserved, wording.Plural(sums.Segments, "segment")+" from the driver")
	if sums.Private > 0 {
		row("  private pools", sums.Private,
			"of it for CUDA graphs and memory pools of the program's own")
	}
	row("allocated", sums.Allocated, shareOf(sums.Allocated, sums.Reserved)+" of it")
	if sums.Active != sums.Allocated {
		row("active", sums.Active, "with freed memory that another stream still uses")
	}
	row("requested", sums.Requested,
		"rounding takes "+record.FormatBytes(sums.Rounding())+" ("+shareOf(sums.Rounding(),
			sums.Active)+") more")
	row("inactive split", a.Free.InactiveSplit, "free, in segments that are partly in use")
	row("cached", a.Free.Whole,
		"free, in unused segments: torch.cuda.empty_cache() returns them")
}

func (t snapshotWriter) failures(tr *snapshot.Trace) {
	shown := t.top(len(tr.OOMs))
	if len(tr.OOMs) > 0 {
		t.line("\nOut of memory, %s", times(len(tr.OOMs)))
	}
	for _, o := range tr.OOMs[:shown] {
		t.line("  event %s: asked for %s at %s", wording.Count(o.Event+1),
			record.FormatBytes(o.Requested), siteText(o.Site))
		t.line("    the driver had %s free, the allocator %s of %s reserved; %s of it could "+
			"serve such a request, in blocks of at most %s",
			record.FormatBytes(o.DeviceFree), record.FormatBytes(o.Free),
			record.FormatBytes(o.Reserved), record.FormatBytes(o.Usable),
			record.FormatBytes(o.Largest))
		if o.Fragmented() {
			t.line("    fragmentation: enough was free in sum, but not in one piece")
		} else {
			t.line("    not enough was free: %s were allocated",
				record.FormatBytes(o.Allocated))
		}
	}
	t.more(len(tr.OOMs)-shown, "failure")
}

func (t snapshotWriter) usages(title string, usages []snapshot.Usage, whole int64) {
	t.line("\n%s", title)
	if len(usages) == 0 {
		t.line("  nothing")
		return
	}
	t.line("  %10s  %7s  %7s  %10s  %s", "bytes", "share", "blocks", "largest", "site")
	shown := t.top(len(usages))
	for _, u := range usages[:shown] {
		t.line("  %10s  %7s  %7s  %10s  %s", record.FormatBytes(u.Bytes), shareOf(u.Bytes, whole),
			wording.Count(u.Blocks),
			record.FormatBytes(u.Largest), siteText(u.Site))
		t.below(u, 43)
	}
	t.more(len(usages)-shown, "site")
}

func (t snapshotWriter) kept(tr *snapshot.Trace) {
	t.line("\nAllocated in this history and never freed")
	if len(tr.Kept) == 0 {
		t.line("  nothing")
		return
	}
	t.line("  %10s  %7s  %6s  %10s  %s", "bytes", "blocks", "steps", "when", "site")
	shown := t.top(len(tr.Kept))
	for _, g := range tr.Kept[:shown] {
		t.line("  %10s  %7s  %6s  %10s  %s", record.FormatBytes(g.Bytes), wording.Count(g.Blocks),
			wording.Count(g.Steps),
			fmt.Sprintf("%.0f-%.0f %%", 100*g.From, 100*g.To), siteText(g.Site))
		t.below(g.Usage, 43)
	}
	t.more(len(tr.Kept)-shown, "site")
}

func (t snapshotWriter) free(f snapshot.Free) {
	t.line("\nFree in the allocator's cache: %s, in blocks of at most %s", record.FormatBytes(f.Sum),
		record.FormatBytes(f.Largest))
	if len(f.Pins) == 0 {
		t.line("  no segment in use is half free or more")
		return
	}
	t.line("  segments that are half free or more, and the sites that keep them")
	t.line("  %10s  %10s  %8s  %s", "free", "held", "segments", "site")
	shown := t.top(len(f.Pins))
	for _, p := range f.Pins[:shown] {
		t.line("  %10s  %10s  %8s  %s", record.FormatBytes(p.Free), record.FormatBytes(p.Holds),
			wording.Count(p.Segments), siteText(p.Site))
		t.library(p.Site, 36)
	}
	t.more(len(f.Pins)-shown, "site")
}

func (t snapshotWriter) peak(tr *snapshot.Trace) {
	at := "before the first event"
	if tr.Peak.Event >= 0 {
		at = "event " + wording.Count(tr.Peak.Event+1)
	}
	if tr.Peak.In != "" {
		at += ", in " + sink.Line(tr.Peak.In)
	}
	t.usages(fmt.Sprintf("The peak of this history: %s allocated, %s reserved (%s)",
		record.FormatBytes(tr.Peak.Allocated), record.FormatBytes(tr.Peak.Reserved), at),
		tr.PeakHolds, tr.Peak.Allocated)
}

// below writes a line under a site with the library that allocated, or the whole stack.
func (t snapshotWriter) below(u snapshot.Usage, column int) {
	if !t.opts.Stacks || len(u.Stacks) == 0 {
		t.library(u.Site, column)
		return
	}
	for _, f := range u.Stacks[0].Frames {
		t.line("%*s%s", column, "", frameText(f))
	}
	if more := len(u.Stacks) - 1; more > 0 {
		t.line("%*s(the stack with most bytes; %d others)", column, "", more)
	}
}

func (t snapshotWriter) library(s snapshot.Site, column int) {
	if s.Library != (snapshot.Frame{}) {
		t.line("%*sin %s", column, "", wording.ShortenPath(sink.Line(s.Library.String()),
			siteWidth))
	}
}

// top returns how many of n rows to show.
func (t snapshotWriter) top(n int) int {
	if t.opts.Top == 0 {
		return n
	}
	return min(n, t.opts.Top)
}

func (t snapshotWriter) more(n int, noun string) {
	if n > 0 {
		t.line("  and %s more: --top 0", wording.Plural(n, noun))
	}
}

// siteWidth is how many runes of a site are shown.
const siteWidth = 90

func siteText(s snapshot.Site) string {
	return wording.ShortenPath(sink.Line(s.String()),
		siteWidth)
}

// frameText prints a frame of a stack: "train.py:40 main", "at::empty(...)". A frame of Python
// without a line number is "train.py main".
func frameText(f *snapshot.Frame) string {
	text := sink.Line(f.Function)
	if f.Line > 0 || f.Python() {
		text = sink.Line(f.String())
	}
	if utf8.RuneCountInString(text) > 2*siteWidth {
		text = wording.Shorten(text, 2*siteWidth)
	}
	return text
}

func shareOf(part, whole int64) string {
	if whole == 0 {
		return wording.Share(0)
	}
	return wording.Share(float64(part) / float64(whole))
}

func seconds(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', 3, 64) +
		" s"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return wording.Count(n) + " times"
}
