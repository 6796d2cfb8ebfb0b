// Package html writes a judged run as one HTML page that opens from disk, without a network.
//
// The page begins with the verdict, its cause and what to do next, then the findings with the lines
// of the log around them. These parts are plain HTML. The charts are drawn by a script from data
// that the page carries in compressed form.
//
// Names in logs may contain anything. Text goes through [sink.Line] and html/template. The data are
// base64 in an element that no browser executes, and the script writes text only as text. A content
// security policy with the digests of the page's own style and script forbids everything else.
package html

import (
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A Page is what the page is about.
type Page struct {
	Timeline  *timeline.Timeline
	Report    *check.Report // with Trends, if the page is to show what was judged
	Collected *Collector    // the readings of the same timeline
	Segments  *Segments     // the segment maps of the logs, or nil
	Logs      []Log         // the logs that the page may quote
	Version   string        // of vramsoak
	// Shard is set if the run is a shard of a larger one.
	Shard *OneShard
	// SoFar says how far the run is if it goes on, such as "26 of 40 files". The page then shows it in
	// place of the run's end.
	SoFar string
}

// A OneShard is a shard of a run of many shards, for its own page.
type OneShard struct {
	Number, Of int
	Node       string // the machine that worked on it last, or ""
	// Linked is set if the page is in the folder of the shard, beside those of the others. The page
	// then links to those of the run and of the shards before and after it.
	Linked bool
}

// A Log is a log that the page may quote.
type Log struct {
	Name string // as in the positions of the timeline
	Path string // the file, or "" if it cannot be read again
}

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/uplot/uPlot.iife.min.js
	uplotJS string
	//go:embed assets/uplot/uPlot.min.css
	uplotCSS string
)

// scripts are the parts of the pages' scripts.
//
//go:embed assets/data.js assets/chart.js assets/words.js assets/time.js assets/files.js
//go:embed assets/trends.js assets/onefile.js assets/run.js assets/series.js assets/segments.js
//go:embed assets/flame.js assets/treemap.js assets/snapshot.js assets/canvas.js
//go:embed assets/shards.js assets/shardtable.js assets/page.js
var scripts embed.FS

// The parts of the scripts of each kind of page, besides those that every page has.
var (
	runScripts      = []string{"time", "files", "trends", "onefile", "run", "canvas", "segments"}
	seriesScripts   = []string{"series"}
	shardsScripts   = []string{"canvas", "shards", "shardtable"}
	snapshotScripts = []string{"canvas", "segments", "flame", "treemap", "snapshot"}
)

// scriptOf returns the script of a page with these parts.
func scriptOf(parts []string) string {
	all := strings.Builder{}
	all.WriteString(uplotJS + "\n")
	for _, name := range slices.Concat([]string{"data", "chart", "words"}, parts, []string{"page"}) {
		part, err := scripts.ReadFile("assets/" + name + ".js")
		if err != nil {
			panic(err) // a part that is not embedded
		}
		all.Write(part)
	}
	return all.String()
}

var templates = template.Must(template.New("page").
	Funcs(template.FuncMap{
		"spans": spans, "breaks": breaks, "pieces": pieces, "linkText": linkText,
	}).Parse(pageHTML))

// A view is what the template shows. One of its pointers is set.
type view struct {
	Policy, Title, Version string
	Of                     string // the logs, in a few words
	Parts                  []part
	Run                    *runView
	History                *historyView
	Comparison             *comparisonView
	Snapshot               *snapshotView
	Needs                  *needsView
	Shards                 *shardsView
}

// A part is an entry of the page's navigation.
type part struct{ ID, Name string }

type runView struct {
	Summary               summary
	About                 []summaryRow
	Open, Closed, Skipped []findingView
	Notes                 []string
	Segments              bool // the logs have segment maps
	More                  string
	Switch                []pageLink // to the pages of the run and of other shards
}

// Write writes a page.
func Write(w io.Writer, p Page) error {
	e := newEncoder(p.Timeline, p.Report, p.Collected)
	run := &runView{}
	quotes := &quotes{}
	run.Open, run.Closed, run.Skipped = e.findings(quotes)
	for _, log := range p.Logs {
		if log.Path == "" {
			continue
		}
		if err := quotes.read(log.Name, log.Path); err != nil {
			return fmt.Errorf("quoting the log: %w", err)
		}
	}
	if p.Segments != nil {
		e.encodeSegments(p.Segments)
		run.Segments = len(e.doc.Segments) > 0
	}
	run.Summary = e.summarize(run.Open)
	run.About = e.about(p.SoFar)
	if p.Shard != nil {
		run.Switch = p.Shard.links()
		run.About = append([]summaryRow{p.Shard.about()}, run.About...)
	}
	for _, note := range wording.Notes(p.Report) {
		run.Notes = append(run.Notes, sink.Name(note))
	}
	if left := len(p.Report.Findings) - len(e.doc.Findings); left > 0 {
		run.More = wording.Plural(left, "more finding") + ": vramsoak check lists them all."
	}
	v := view{
		Of: e.logNames(),
		Parts: []part{
			{"verdict", "Verdict"},
			{"findings", "Findings"},
			{"charts", "Charts"},
			{"file", "File"},
			{"judged", "Judged"},
			{"files", "Files"},
			{"checks", "Checks"},
		},
		Version: sink.Name(p.Version), Run: run,
	}
	v.Title = strings.ToUpper(run.Summary.Verdict) + ": " + run.Summary.Title
	if v.Of != "" {
		v.Title += " - " + v.Of
	}
	v.Title += " - vramsoak"
	return v.write(w, &e.doc, runScripts)
}

// write writes the page with its data and the parts of its script.
func (v *view) write(w io.Writer, data any, parts []string) error {
	style := uplotCSS + pageCSS
	script := scriptOf(parts)
	v.Policy = "default-src 'none'; script-src " + digest(script) + "; style-src " + digest(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if err := templates.ExecuteTemplate(w, "head", v); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "<style>"+style+"</style>\n"); err != nil {
		return err
	}
	if err := templates.ExecuteTemplate(w, "body", v); err != nil {
		return err
	}
	if err := writeData(w, data); err != nil {
		return err
	}
	_, err := io.WriteString(w, "<script>"+script+"</script>\n</body>\n</html>\n")
	return err
}

// digest returns the source expression that allows an inline style or script in a content security
// policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// writeData writes the data as JSON, compressed and in base64, into an element that no browser
// executes.
func writeData(w io.Writer, data any) error {
	if _, err := io.WriteString(w,
		`<script type="application/octet-stream" id="data">`); err != nil {
		return err
	}
	encoded := base64.NewEncoder(base64.StdEncoding, w)
	compressed, err := gzip.NewWriterLevel(encoded, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := sink.JSONLines(compressed).Encode(data); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	if err := encoded.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, "</script>\n")
	return err
}
