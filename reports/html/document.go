package html

import (
	"vramsoak/parser/record"
)

// schema names the form of the page's data. The data and the script that reads them are in one
// file, so the form may change freely; the name is for people who look into the file.
const schema = "vramsoak.page/1"

// A document is the data of a page, which its script draws. Names in it have gone through
// [sink.Line].
type document struct {
	Schema string      `json:"schema"`
	Names  []string    `json:"names"` // of checkpoints and stages
	Logs   []logData   `json:"logs"`
	Files  fileTable   `json:"files"`
	Tracks []trackData `json:"tracks"`
	Events []event     `json:"events"`
	Trends []trendData `json:"trends"`
	// Findings holds the places of the findings on the page, by their number there.
	Findings []findingPlace `json:"findings"`
	Segments []mapSeries    `json:"segments"`
	Devices  int            `json:"devices"` // in the logs; the page may hold fewer
	Lead     int            `json:"lead"`    // the finding that explains the verdict, or -1
}

// A logData is one log.
type logData struct {
	Name   string `json:"name"`
	Timed  bool   `json:"timed"`
	Origin int64  `json:"origin"` // Unix time of x = 0 in ms; 0 if the log gives no dates
	Cut    int64  `json:"cut"`    // ms between the parts of a resumed run, which x leaves out
	End    int64  `json:"end"`    // the largest x
}

// A fileTable holds the files in the order of the log, and the stretches between files.
type fileTable struct {
	Path    []string `json:"path"`
	Number  column   `json:"number"` // the number that charts show; 0 outside of files
	Status  []string `json:"status"`
	Error   []string `json:"error"`
	Seconds column   `json:"seconds"` // in ms, missing if unknown
	Audio   column   `json:"audio"`   // in ms, missing if unknown
	Log     column   `json:"log"`     // index in Logs
	Line    column   `json:"line"`
	Begin   column   `json:"begin"` // x
	End     column   `json:"end"`   // x
}

// A trackData holds the readings of one device of one rank, in one log.
type trackData struct {
	Log    int              `json:"log"`
	Label  string           `json:"label"`
	Total  int64            `json:"total"`
	Digits map[string]int64 `json:"digits"` // resolution in bytes, by quantity
	// All is the number of checkpoints in the log, and AllFiles that of files. The page may hold less
	// of them: see [Collector].
	All      int        `json:"all"`
	AllFiles int        `json:"allFiles"`
	Points   pointTable `json:"points"`
	Rows     rowTable   `json:"rows"`
	Samples  []samples  `json:"samples"`
}

// A pointTable holds checkpoints.
type pointTable struct {
	X      column            `json:"x"`
	Number column            `json:"number"`
	File   column            `json:"file"`
	Line   column            `json:"line"`
	Name   column            `json:"name"`
	Stage  column            `json:"stage"` // missing outside of stages
	Freed  column            `json:"freed"` // in 1/1000, missing if no cleanup ends here
	Failed []int             `json:"failed"`
	Values map[string]column `json:"values"`
}

// A rowTable holds the files of a track.
type rowTable struct {
	File    column            `json:"file"`
	Idle    map[string]column `json:"idle"`    // at the last checkpoint
	Highest map[string]column `json:"highest"` // the largest reading
}

// samples are readings of the harness.
type samples struct {
	Name  string `json:"name"`
	X     column `json:"x"`
	Value column `json:"value"`
	All   int    `json:"all"`
}

// An event is a line of the log that the chart marks.
type event struct {
	Kind string `json:"kind"` // "oom", "failed", "exit", "restart", "resume", "crash"
	Log  int    `json:"log"`
	Line int    `json:"line"`
	X    int64  `json:"x"`
	File int    `json:"file"` // index in Files, or -1
	Text string `json:"text"`
	// Track, Level and Request are of a failed allocation whose size is known: the index in Tracks,
	// the bytes in use before it, and the bytes that it asked for.
	Track   int   `json:"track,omitempty"`
	Level   int64 `json:"level,omitempty"`
	Request int64 `json:"request,omitempty"`
}

// A findingPlace says where the charts show a finding.
type findingPlace struct {
	Track int `json:"track"` // -1 if unknown
	File  int `json:"file"`  // index in Files, or -1
	Line  int `json:"line"`
	Trend int `json:"trend"` // index in Trends, or -1
}

// byKey returns columns under the keys of their quantities. It leaves out free memory if the log
// says how much is in use.
func (v *values) byKey() map[string]column {
	used := v[record.Allocated] != nil || v[record.Reserved] != nil || v[record.Used] != nil
	out := map[string]column{}
	for _, q := range drawn {
		if v[q] != nil && (q != record.Free || !used) {
			out[q.String()] = v[q]
		}
	}
	return out
}

// ratio scales a number for a column, which has whole numbers.
func ratio(v float64, by float64) int64 {
	if v <= 0 {
		return missing
	}
	return int64(v * by)
}

// label names a lane on the page.
func label(l record.Lane, writer string, ranks bool) string {
	switch {
	case writer != "":
		return writer + ", " + l.Name(false)
	case ranks:
		return l.Name(true)
	}
	return l.Name(false)
}
