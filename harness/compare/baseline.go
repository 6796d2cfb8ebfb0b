package compare

import (
	"time"

	"vramsoak/harness/check"
)

// Schema names the form of a Baseline in JSON.
const Schema = "vramsoak.baseline/1"

// A Baseline is what is kept of a run, to compare later ones with.
type Baseline struct {
	Schema string  `json:"schema"`
	Run    RunInfo `json:"run"`
	check.Measurements
}

// RunInfo says which run it was. What is not known is empty.
type RunInfo struct {
	Started time.Time     `json:"started,omitzero"`
	Commit  string        `json:"commit,omitempty"` // git
	Host    string        `json:"host,omitempty"`
	GPU     string        `json:"gpu,omitempty"`
	Driver  string        `json:"driver,omitempty"`
	Version string        `json:"version,omitempty"` // of vramsoak
	Command []string      `json:"command,omitempty"`
	Log     string        `json:"log,omitempty"` // as named by the user
	Verdict check.Verdict `json:"verdict,omitempty"`
}
