package html

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/harness/shard"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A ShardedRun is what the page of a run of many shards shows.
type ShardedRun struct {
	*merge.Judged
	Name    string         // of the run
	Logs    []Log          // the logs that the page may quote
	Pages   map[int]string // links to the shards' own pages, by the number of the shard
	Version string         // of vramsoak
}

// A shardsView is what the template of such a page shows.
type shardsView struct {
	runView
	Sums string // how many shards have which state
	Left string // what the page leaves out, or ""
}

// A shardsDocument is the data of the page. Names in it have gone through [sink.Name].
type shardsDocument struct {
	Schema string       `json:"schema"`
	Shards shardTable   `json:"shards"`
	Nodes  []string     `json:"nodes"`  // in natural order
	States []stateData  `json:"states"` // the worst first
	Texts  []string     `json:"texts"`  // of findings
	Growth []growthData `json:"growth"`
}

// A stateData is a way in which a shard may have ended.
type stateData struct {
	Name string `json:"name"`
	Sign string `json:"sign"`
}

// A shardTable holds the shards, the worst first.
type shardTable struct {
	Number  column  `json:"number"`
	Node    column  `json:"node"`  // index in Nodes
	State   column  `json:"state"` // index in States
	Cut     column  `json:"cut"`   // 1 if the log has no end
	Files   column  `json:"files"`
	Failed  column  `json:"failed"` // files that did not end ok
	Peak    column  `json:"peak"`   // bytes; missing if unknown
	Total   column  `json:"total"`  // bytes of the device; missing if unknown
	Seconds column  `json:"seconds"`
	Title   column  `json:"title"` // index in Texts: the worst finding in a few words; or missing
	Open    [][]int `json:"open"`  // indices in Texts: the findings that decide
	// Folder and Page are the folder of the shard and the link to its own page, or "".
	Folder []string `json:"folder"`
	Page   []string `json:"page"`
}

// A growthData is the growth of a series in each shard.
type growthData struct {
	Title string  `json:"title"`
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit"` // allowed growth, in Unit
	// Together is the growth over all shards with its interval, in words, or "".
	Together string `json:"together"`
	State    column `json:"state"` // index in States; missing if the shard has no such series
	// Slope is the growth per file, and Error half the width of its 95 % interval.
	Slope digits `json:"slope"`
	Error digits `json:"error"`
}

// digits are numbers that are written with five digits. NaN and infinite values are null.
type digits []float64

// MarshalJSON implements [json.Marshaler].
func (d digits) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 8*len(d)+2)
	out = append(out, '[')
	for i, v := range d {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendFloat(out, v, 'g', 5, 64)
		}
	}
	return append(out, ']'), nil
}

// shardsMax is how many shards the page shows, the worst first.
const shardsMax = 10_000

// normal95 is how far the bounds of a 95 % interval lie from the estimate, in standard errors.
const normal95 = 1.96

// The states of shards, the worst first.
const (
	stateMissing = iota
	stateFail
	stateCut
	stateUndecided
	stateWaived
	statePass
)

var shardStates = []stateData{
	stateMissing:   {"missing", "∅"},
	stateFail:      {"fail", signs["fail"]},
	stateCut:       {"cut short", "…"},
	stateUndecided: {"undecided", signs["undecided"]},
	stateWaived:    {"waived", signs["waived"]},
	statePass:      {"pass", signs["pass"]},
}

// WriteShards writes the page of a run of many shards: the verdict and the findings as on the page
// of one log, a map of the shards by node, and a table of them.
func WriteShards(w io.Writer, run ShardedRun) error {
	e := newEncoder(run.Timeline(), run.Report, NewCollector())
	view, err := e.shardsView(&run)
	if err != nil {
		return err
	}
	d := encodeShards(&run)
	page := newShardsPage(&run, view)
	return page.write(w, d, shardsScripts)
}

func newShardsPage(run *ShardedRun, shown *shardsView) view {
	s := &shown.Summary
	name := sink.Name(run.Name)
	return view{
		Of: name, Version: sink.Name(run.Version), Shards: shown,
		Title: strings.ToUpper(s.Verdict) + ": " + s.Title + " - " + name + " - vramsoak",
		Parts: []part{
			{"verdict", "Verdict"},
			{"findings", "Findings"},
			{"shards", "Map"},
			{"shard", "Shard"},
			{"table", "Shards"},
			{"checks", "Checks"},
		},
	}
}

// shardsView returns the parts of the page that are plain HTML.
func (e *encoder) shardsView(run *ShardedRun) (*shardsView, error) {
	v := &shardsView{}
	var quoted quotes
	v.Open, v.Closed, v.Skipped = e.findings(&quoted)
	for _, log := range run.Logs {
		if err := quoted.read(log.Name, log.Path); err != nil {
			return nil, fmt.Errorf("quoting the log: %w", err)
		}
	}
	v.Summary = e.summarize(v.Open)
	for i := range v.Summary.Rows {
		v.Summary.Rows[i].NoChart = true
	}
	v.About = run.about()
	for _, note := range wording.Notes(run.Report) {
		v.Notes = append(v.Notes, sink.Name(note))
	}
	if left := len(run.Report.Findings) - len(e.doc.Findings); left > 0 {
		v.More = wording.Plural(left, "more finding") + ": vramsoak check lists them all."
	}
	v.Sums = run.sums()
	if left := len(run.Shards) - shardsMax; left > 0 {
		v.Left = fmt.Sprintf("The map and the table show the worst %s of %s.", wording.Count(shardsMax),
			wording.Plural(len(run.Shards), "shard"))
	}
	return v, nil
}

// about returns what the logs say of the run.
func (r *ShardedRun) about() (rows []summaryRow) {
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, summaryRow{Name: name, Lines: []string{sink.Name(text)}, Finding: -1})
		}
	}
	add("Run", r.Name)
	count := r.Report.Shards
	shards := fmt.Sprintf("%s of %s complete", wording.Count(count.Complete),
		wording.Count(count.Count))
	if count.Nodes > 0 {
		shards += ", on " + wording.Plural(count.Nodes, "node")
	}
	add("Shards", shards)
	if of := r.Start.Of; of > 0 {
		add("Batch", wording.Plural(of, "file"))
	}
	add("Command", wording.Shorten(r.Start.Command, 300))
	add("Began", clockOf(r.Started))
	add("Ended", clockOf(r.Report.Ended()))
	return rows
}

// sums says how many shards have which state: "24 shards on 3 nodes: 23 fail, 1 pass".
func (r *ShardedRun) sums() string {
	counts := make([]int, len(shardStates))
	for i := range r.Shards {
		counts[r.stateOf(&r.Shards[i])]++
	}
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, wording.Count(n)+" "+shardStates[i].Name)
		}
	}
	return wording.Plural(len(r.Shards), "shard") + ": " + strings.Join(parts, ", ") +
		". Each shard is judged by itself here; the verdict above is on all of them together."
}

// stateOf returns how a shard ended, with what the policy of the run says of its findings.
func (r *ShardedRun) stateOf(s *merge.State) int {
	switch {
	case s.Verdict == "":
		return stateMissing
	case !s.Complete && !failsBesides(s):
		return stateCut
	case s.Verdict == check.Fail && !r.waived(s):
		return stateFail
	case s.Verdict == check.Undecided && !r.waived(s):
		return stateUndecided
	case s.Verdict != check.Pass:
		return stateWaived
	}
	return statePass
}

// failsBesides reports whether a shard that was cut short fails for another reason too.
func failsBesides(s *merge.State) bool {
	return s.Verdict == check.Fail && slices.ContainsFunc(s.Open, func(f check.Finding) bool {
		return f.Check != check.Completeness
	})
}

// waived reports whether the policy waives all findings that decide the verdict on a shard.
func (r *ShardedRun) waived(s *merge.State) bool {
	for i := range s.Open {
		if !r.waives(&s.Open[i]) {
			return false
		}
	}
	return len(s.Open) > 0
}

// waives reports whether the policy waives what the whole run has on the check and the subject of a
// shard's finding.
func (r *ShardedRun) waives(of *check.Finding) bool {
	return slices.ContainsFunc(r.Report.Findings, func(f check.Finding) bool {
		return f.Check == of.Check && f.Subject == of.Subject && f.Waived != nil
	})
}

// encodeShards returns the data of the page.
func encodeShards(run *ShardedRun) *shardsDocument {
	ranked := make([]*merge.State, len(run.Shards))
	states := make(map[*merge.State]int, len(run.Shards))
	for i := range run.Shards {
		ranked[i] = &run.Shards[i]
		states[ranked[i]] = run.stateOf(ranked[i])
	}
	slices.SortFunc(ranked, func(a, b *merge.State) int {
		return cmp.Or(cmp.Compare(states[a], states[b]), compareWorst(a, b),
			cmp.Compare(a.Number, b.Number))
	})
	ranked = ranked[:min(len(ranked), shardsMax)]
	d := &shardsDocument{Schema: schema, States: shardStates, Texts: []string{}}
	d.Nodes = nodesOf(ranked)
	nodes := map[string]int64{}
	for i, n := range d.Nodes {
		nodes[n] = int64(i)
		d.Nodes[i] = sink.Name(n)
	}
	texts := map[string]int{}
	text := func(s string) int {
		s = sink.Name(s)
		if _, known := texts[s]; !known {
			texts[s] = len(d.Texts)
			d.Texts = append(d.Texts, s)
		}
		return texts[s]
	}
	t := &d.Shards
	for _, s := range ranked {
		t.Number = append(t.Number, int64(s.Number))
		t.Node = append(t.Node, nodes[s.Node])
		t.State = append(t.State, int64(states[s]))
		cut := int64(0)
		if s.Name != "" && !s.Complete {
			cut = 1
		}
		t.Cut = append(t.Cut, cut)
		t.Files, t.Failed = append(t.Files, int64(s.Files)), append(t.Failed, int64(s.Failed))
		t.Peak, t.Total = append(t.Peak, known(s.Peak)), append(t.Total, known(s.Total))
		each := s.Seconds / float64(max(1, s.Files))
		t.Seconds = append(t.Seconds, ratio(each, 1000))
		title, open := int64(missing), []int{}
		for k := range s.Open {
			if k == 0 {
				title = int64(text(wording.Title(s.Open[k])))
			}
			open = append(open, text(wording.Named(s.Open[k])+": "+s.Open[k].Found()))
		}
		t.Title, t.Open = append(t.Title, title), append(t.Open, open)
		t.Folder, t.Page = append(t.Folder, sink.Name(s.Name)), append(t.Page, run.Pages[s.Number])
	}
	d.Growth = []growthData{}
	for i := range run.Series {
		g := growthOf(&run.Series[i], i, ranked)
		g.Together = run.together(&run.Series[i])
		d.Growth = append(d.Growth, g)
	}
	return d
}

// together returns how much a series grows over all shards, with its interval, or "" if that is not
// known.
func (r *ShardedRun) together(s *merge.Series) string {
	for i := range r.Pooled {
		l := &r.Pooled[i]
		if l.Check == s.Check && (s.Subject == l.Name || strings.HasPrefix(s.Subject, l.Name+" (")) {
			return check.Rate(l.Mean, l.Unit, "file")
		}
	}
	return ""
}

// known returns a number of bytes, or missing for 0.
func known(bytes int64) int64 {
	if bytes == 0 {
		return missing
	}
	return bytes
}

// compareWorst puts the shard first whose worst finding is worse.
func compareWorst(a, b *merge.State) int {
	if len(a.Open) == 0 || len(b.Open) == 0 || a.Open[0].Check != b.Open[0].Check {
		return 0
	}
	x, y := &a.Open[0], &b.Open[0]
	switch {
	case x.Worse(y):
		return -1
	case y.Worse(x):
		return 1
	}
	return 0
}

// nodesOf returns the names of the shards' nodes. Numbers in them count as numbers: n2 comes before
// n10. Shards without a node come last.
func nodesOf(shards []*merge.State) []string {
	names := []string{}
	seen := map[string]bool{}
	for _, s := range shards {
		if !seen[s.Node] {
			seen[s.Node] = true
			names = append(names, s.Node)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if a == "" || b == "" {
			return cmp.Compare(len(b), len(a))
		}
		return compareNatural(a, b)
	})
	return names
}

// compareNatural compares names by their parts without digits, and by their numbers.
func compareNatural(a, b string) int {
	const decimal = "0123456789"
	for a != "" && b != "" {
		i, j := strings.IndexAny(a, decimal), strings.IndexAny(b, decimal)
		if i != 0 || j != 0 {
			n := 1
			if a[:n] != b[:n] {
				return cmp.Compare(a[:n], b[:n])
			}
			a, b = a[n:], b[n:]
			continue
		}
		restA, restB := strings.TrimLeft(a, decimal), strings.TrimLeft(b, decimal)
		x := strings.TrimLeft(a[:len(a)-len(restA)], "0")
		y := strings.TrimLeft(b[:len(b)-len(restB)], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// growthOf returns how a series grows in each shard.
func growthOf(s *merge.Series, index int, shards []*merge.State) growthData {
	d := growthData{
		Title: sink.Name(s.Check + ", " + s.Subject), Unit: s.Unit + check.PerFile, Limit: s.Limit,
	}
	if strings.HasSuffix(s.Unit, check.PerFile) {
		d.Unit = s.Unit
	}
	for _, of := range shards {
		state, slope, half := int64(missing), math.NaN(), math.NaN()
		for i := range of.Growths {
			g := &of.Growths[i]
			if g.Series != index {
				continue
			}
			slope, half = g.Slope, normal95*g.Error+g.Rounding
			state = statePass
			switch g.Verdict {
			case check.Fail:
				state = stateFail
			case check.Undecided:
				state = stateUndecided
			case check.Skipped:
				state, slope = missing, math.NaN()
			}
		}
		d.State = append(d.State, state)
		d.Slope, d.Error = append(d.Slope, slope), append(d.Error, half)
	}
	return d
}

// A pageLink is a link to another page of the same run.
type pageLink struct{ URL, Text string }

// links returns the links from the page of a shard. Nobody looks whether the other pages are there
// yet, because no shard reads the files of another one.
func (o *OneShard) links() []pageLink {
	if !o.Linked {
		return nil
	}
	links := []pageLink{{"../report.html", "All shards"}}
	page := func(n int, text string) {
		links = append(links, pageLink{"../" + shard.Folder(n) + "/report.html", text})
	}
	if o.Number > 1 {
		page(o.Number-1, fmt.Sprintf("Shard %d", o.Number-1))
	}
	if o.Number < o.Of {
		page(o.Number+1, fmt.Sprintf("Shard %d", o.Number+1))
	}
	return links
}

func (o *OneShard) about() summaryRow {
	text := fmt.Sprintf("%s of %s", wording.Count(o.Number), wording.Count(o.Of))
	if o.Node != "" {
		text += ", on node " + o.Node
	}
	return summaryRow{Name: "Shard", Lines: []string{sink.Name(text)}, Finding: -1}
}
