package html

import (
	"slices"

	"vramsoak/harness/check"
)

// A seriesDocument is the data of a page of small multiples: a history or a comparison.
type seriesDocument struct {
	Schema string       `json:"schema"`
	Labels []string     `json:"labels"` // of the runs or files
	Series []seriesData `json:"series"`
}

// A seriesData is one chart.
type seriesData struct {
	Title   string       `json:"title"`
	Verdict string       `json:"verdict"` // or "" for a series without a judgement
	Sign    string       `json:"sign"`
	Note    string       `json:"note"`
	Unit    string       `json:"unit"`
	XName   string       `json:"xName"`
	X       []int        `json:"x"`
	At      []int        `json:"at"` // index in Labels, for each of X
	Lines   []lineData   `json:"lines"`
	Marks   []seriesMark `json:"marks"`
}

// A lineData is one line of a chart, with a value for each x.
type lineData struct {
	Name   string       `json:"name"`
	Color  string       `json:"color"` // a colour of the style sheet
	Values check.Values `json:"values"`
	Dashed bool         `json:"dashed"`
	Dots   bool         `json:"dots"`
}

// A seriesMark is a place on the x axis where a level changed.
type seriesMark struct {
	X    int    `json:"x"`
	Text string `json:"text"`
	Bad  bool   `json:"bad"`
}

// seriesMax is how many charts a page of small multiples has. The worst ones come first.
const seriesMax = 60

// A tableView is a table of a page.
type tableView struct {
	ID, Title string
	Head      []headCell
	Rows      [][]cell
	Left      int // number of rows that are left out
}

// withoutEmpty returns the table without the columns that have no text in any row.
func (t tableView) withoutEmpty() tableView {
	for i := range slices.Backward(t.Head) {
		if len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []cell) bool {
			return row[i].Text != "" || row[i].Verdict != ""
		}) {
			t.Head = slices.Delete(t.Head, i, i+1)
			for k := range t.Rows {
				t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
			}
		}
	}
	return t
}

type headCell struct {
	Name   string
	Number bool // right-aligned
}

type cell struct {
	Text          string
	Number        bool
	Verdict, Sign string // a badge before the text
}

// shortCell is the length of a time or a commit, which a browser should not break.
const shortCell = len("2026-11-19 02:00 UTC")

// IsShort reports whether the cell is to be kept on one line.
func (c cell) IsShort() bool { return len(c.Text) <= shortCell }

// text returns cells with texts that have gone through [sink.Line].
func text(all ...string) []cell {
	out := make([]cell, len(all))
	for i, t := range all {
		out[i].Text = t
	}
	return out
}
