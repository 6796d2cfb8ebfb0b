package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A summary is the top of a page: what a reader must know if they read nothing else.
type summary struct {
	Verdict string // "fail"
	Sign    string
	Title   string // the cause, or the extent of a run that does not fail
	Facts   string
	Rows    []summaryRow
}

// A summaryRow answers one question: cause, stage, first file, rate, consequence, what to do next.
type summaryRow struct {
	Name  string
	Lines []string
	// Finding is the number of the finding that a link on the row leads to, or -1.
	Finding int
	Link    string // another place on the page, such as "#series-0"
	Shard   int    // the shard that decided the finding, if the run has shards
	NoChart bool   // no chart shows the finding
}

// effects are the rows of the right half of the top: what follows, and what to do.
var effects = []string{"Consequence", "Also", "What to do next"}

// Halves returns the rows of the left half and of the right half. So each row is at the same place
// on each page, however long the rows are.
func (s summary) Halves() [][]summaryRow {
	var left, right []summaryRow
	for _, r := range s.Rows {
		if slices.Contains(effects, r.Name) {
			right = append(right, r)
		} else {
			left = append(left, r)
		}
	}
	return slices.DeleteFunc([][]summaryRow{left, right},
		func(half []summaryRow) bool { return len(half) == 0 })
}

// FactsBelow returns the facts, without those that the title says.
func (s summary) FactsBelow() string {
	rest, found := strings.CutPrefix(s.Facts, s.Title)
	if found && (rest == "" || strings.HasPrefix(rest, "; ")) {
		return strings.TrimPrefix(rest, "; ")
	}
	return s.Facts
}

// add adds a row, without empty lines. A row without lines is left out. It returns the row, or an
// empty one.
func (s *summary) add(name string, lines ...string) *summaryRow {
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if len(lines) == 0 {
		return &summaryRow{}
	}
	for i := range lines {
		lines[i] = sink.Name(lines[i])
	}
	s.Rows = append(s.Rows, summaryRow{Name: name, Lines: lines, Finding: -1})
	return &s.Rows[len(s.Rows)-1]
}

// summarize returns the top of the page. The parameter open holds the findings that did not pass.
func (e *encoder) summarize(open []findingView) summary {
	s := summary{
		Verdict: string(e.rep.Verdict), Sign: signs[string(e.rep.Verdict)],
		Facts: e.byRank(sink.Name(wording.Facts(e.rep))),
		Title: e.byRank(sink.Name(cmp.Or(wording.Worst(e.rep), wording.Passed(e.rep)))),
	}
	groups := wording.Deciding(e.rep)
	if len(groups) == 0 {
		return s
	}
	lead := &groups[0].Finding
	e.doc.Lead = numberOf(open, lead)
	row := s.add("Cause", e.cause(lead)...)
	row.Finding, row.Shard = e.doc.Lead, lead.Shard
	s.add("Stage", cmp.Or(lead.Stage, where(lead)))
	s.add("Device", lead.Device)
	s.add("First file", e.firstFile(lead))
	name := "Measured"
	if strings.HasSuffix(lead.Unit, check.PerFile) || strings.HasSuffix(lead.Unit, check.PerReading) {
		name = "Rate"
	}
	s.add(name, e.rateOf(lead), limitText(lead))
	if lead.Check == check.Fragmentation {
		s.add("Peak", peaks(e.rep))
	}
	s.add("Consequence", e.consequences(groups[0])...)
	s.add("Also", others(groups[1:])...)
	s.add("What to do next", sentences(e.next(groups[0]))...)
	return s
}

// byRank returns a summary that begins with the number of files, and adds how many files each rank
// has: "96 files (48 on each of 2 ranks), 1,728 checkpoints". Without it, one would take the files
// of all ranks for one batch. byRank changes nothing if there is one rank, or if the ranks have
// different numbers of files.
func (e *encoder) byRank(summary string) string {
	ranks := map[int]int{} // files
	for _, t := range e.of.tracks {
		ranks[t.lane.Rank] += t.rowCount
	}
	each := e.rep.Files / max(1, len(ranks))
	for _, files := range ranks {
		if files != each {
			return summary
		}
	}
	all := wording.Plural(e.rep.Files, "file")
	rest, found := strings.CutPrefix(summary, all)
	if !found || len(ranks) < 2 || each == 0 || each*len(ranks) != e.rep.Files {
		return summary
	}
	return fmt.Sprintf("%s (%s on each of %d ranks)%s", all, wording.Count(each), len(ranks), rest)
}

// numberOf returns the number of a finding on the page, or -1 if the page does not list it.
func numberOf(open []findingView, f *check.Finding) int {
	for _, v := range open {
		if v.Check == sink.Name(f.Check) && v.Subject == sink.Name(f.Subject) {
			return v.Number
		}
	}
	return -1
}

// cause returns what the leading finding says.
func (e *encoder) cause(lead *check.Finding) []string {
	said := wording.Clauses(lead.Found())
	lines := []string{wording.Named(*lead) + ": " + said[0]}
	if w := where(lead); w != "" && lead.Stage != "" {
		lines = append(lines, w)
	}
	if len(lead.Also) > 0 {
		lines = append(lines, "together with: "+strings.Join(lead.Also, ", "))
	}
	return lines
}

// where returns what a finding on growth says about the place where the memory is allocated: "it is
// allocated between Before Whisper Cleanup and After Transcription". It returns "" if it says
// nothing.
func where(f *check.Finding) string {
	for _, c := range wording.Clauses(f.Found())[1:] {
		if strings.HasPrefix(c, "it is allocated ") || strings.HasPrefix(c, "it is reserved ") {
			return c
		}
	}
	return ""
}

// rateOf returns how fast the leading finding's series grows, or what it measured.
func (e *encoder) rateOf(lead *check.Finding) string {
	for i := range e.rep.Trends {
		t := &e.rep.Trends[i]
		if t.Finding.Check == lead.Check && t.Finding.Subject == lead.Subject {
			if text := rate(t); text != "" {
				return text
			}
		}
	}
	return measured(lead)
}

// measured returns what a finding measured. A count says what was counted: "58 failed allocations".
func measured(f *check.Finding) string {
	text := wording.Measured(*f)
	if f.Unit != check.Count || f.Measured == nil || *f.Measured != math.Trunc(*f.Measured) ||
		*f.Measured == 0 {
		return text
	}
	noun := "case"
	switch {
	case f.Check == check.OutOfMemory:
		noun = "failed allocation"
	case f.Check == check.Consistency:
		noun = "line"
	case f.Check == check.Fallbacks, f.Subject == check.Files:
		noun = "file"
	case f.Subject == merge.Shards:
		noun = "shard"
	case f.Subject == "checkpoint pairs":
		noun = "pair"
	case f.Subject == "processes", f.Subject == "processes left behind":
		return wording.Count(int(*f.Measured)) + " processes"
	}
	return wording.Plural(int(*f.Measured), noun)
}

func limitText(f *check.Finding) string {
	if limit := wording.Limit(*f); limit != "" {
		return "allowed: " + limit
	}
	return ""
}

// linesMax is how many findings an answer lists.
const linesMax = 4

// consequences returns what follows from the leading finding, as far as the log shows it.
func (e *encoder) consequences(lead wording.Group) (lines []string) {
	for _, c := range wording.Clauses(lead.Found())[1:] {
		if strings.HasPrefix(c, "memory ran out") ||
			strings.HasPrefix(c, "more files until out of memory") {
			lines = append(lines, c)
		}
	}
	lines = append(lines, e.reservedRise(&lead.Finding)...)
	if bad := notOK(e.tl); len(bad) > 0 {
		first := bad[0]
		lines = append(lines, fmt.Sprintf("%s of %s did not end ok; the first is %s (%s)",
			wording.Count(len(bad)), wording.Plural(e.rep.Files, "file"),
			cmp.Or(fileLabel(first.Index, first.Path), first.Name()), statusText(first.Status)))
	}
	var follow []string
	for _, f := range lead.Consequences {
		if f.Check != check.Completeness {
			follow = append(follow, wording.Title(f))
		}
	}
	return append(lines, shortList(follow)...)
}

// others returns the titles of the other findings that decide the verdict.
func others(groups []wording.Group) []string {
	var titles []string
	for _, g := range groups {
		titles = append(titles, wording.Title(g.Finding)+wording.InShard(g.Finding))
	}
	return shortList(titles)
}

// shortList returns at most linesMax of the lines, and a line that counts the others.
func shortList(lines []string) []string {
	if more := len(lines) - linesMax; more > 0 {
		lines = append(lines[:linesMax:linesMax], "and "+wording.Plural(more, "more finding"))
	}
	return lines
}

func statusText(s record.Status) string {
	if s == record.StatusOOM {
		return "out of memory"
	}
	return string(s)
}

// next returns what to do about the leading finding: the advice of the log's own numbers first.
func (e *encoder) next(group wording.Group) (lines []string) {
	lead := &group.Finding
	lines = append(lines, lead.Advice...)
	if lead.Verdict == check.Undecided {
		for _, c := range wording.Clauses(lead.Found()) {
			if strings.Contains(c, "would decide") || strings.Contains(c, "would show whether") {
				lines = append(lines, c)
			}
		}
		return append(lines, "Decide an undecided verdict: docs/how-to/undecided.md")
	}
	lines = append(lines, nextSteps(lead)...)
	for _, f := range group.Consequences {
		if len(f.Advice) > 0 {
			return append(lines, f.Advice[0])
		}
	}
	return lines
}

// sentences returns lines that begin with a capital letter. The name of a setting or a command
// stays as it is.
func sentences(lines []string) []string {
	for i, line := range lines {
		word, _, _ := strings.Cut(line, " ")
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz:,") == "" && word != "" && word != "vramsoak" {
			lines[i] = strings.ToUpper(word[:1]) + line[1:]
		}
	}
	return lines
}

// snapshotAfter is how many files after the first one that leaks a snapshot should be taken. Then
// the memory of several files is kept, and stands out.
const snapshotAfter = 9

// nextSteps returns what to do about a failed check, in the order in which one would try it.
func nextSteps(f *check.Finding) []string {
	where := "the work on one file"
	if f.Stage != "" {
		where = f.Stage
	}
	switch f.Check {
	case check.Leak, check.DeviceGrowth, check.DeviceRecovery:
		in := "in file " + wording.Count(f.File+snapshotAfter)
		if f.Shard > 0 || f.InShards > 0 { // its files are not those that follow in the batch
			in = fmt.Sprintf("in the %dth file of a shard that grows", snapshotAfter+1)
		}
		return []string{
			fmt.Sprintf("Find what holds the memory: take a memory snapshot %s, after %s, and run: "+
				"vramsoak snapshot FILE (docs/how-to/snapshot.md)", in, where),
			"In Python, vramlog.freeing around what should be freed names the objects that still refer " +
				"to it (docs/reference/vramlog.md)",
		}
	case check.Recovery:
		return []string{"In Python, vramlog.freeing around the cleanup names the objects that still " +
			"refer to the memory (docs/reference/vramlog.md)"}
	case check.Fragmentation:
		return []string{
			"Draw what the allocator holds: vramsoak plot LOG --fragmentation",
			"Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and run the batch again " +
				"(docs/explanation/fragmentation.md)",
		}
	case check.OutOfMemory, check.Peak:
		return []string{"Find the smallest change with which the batch fits: vramsoak validate " +
			"PIPELINE.yaml (docs/how-to/validate.md)"}
	case check.Regression:
		return []string{"Find the night with which it began: vramsoak history (docs/how-to/history.md)"}
	case check.DescriptorGrowth:
		return []string{"List what stays open: ls -l /proc/PID/fd"}
	}
	return nil
}
