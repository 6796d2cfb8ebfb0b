package runfolder

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"vramsoak/harness"
	"vramsoak/parser/bounded"
)

// Schema names the form of run.json.
const Schema = "vramsoak.run/1"

// Running is the reason of a run that has not ended, or was killed.
const Running = "running"

// An Info is run.json: what ran, where, with what. The log has the rest.
type Info struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	Command []string `json:"command"` // with its secrets masked
	// Digest is that of the command if secrets in it are masked.
	Digest string `json:"command_digest,omitempty"`
	// Git commit of the folder that vramsoak ran in.
	Commit    string         `json:"commit,omitempty"`
	Host      string         `json:"host"`
	GPUs      []GPU          `json:"gpus"`
	Driver    string         `json:"driver,omitempty"`
	Config    Config         `json:"config"`
	Started   time.Time      `json:"started"`
	Seconds   float64        `json:"seconds"`
	Reason    string         `json:"reason"`
	Statuses  map[string]int `json:"statuses"`  // files by how they ended
	Processes int            `json:"processes"` // that were started
}

// A GPU is one that the machine has.
type GPU struct {
	Name  string `json:"name"`
	Total int64  `json:"total"` // bytes
}

// A Config is how a run was started.
type Config struct {
	Files  []string `json:"files"` // as given by --files
	Count  int      `json:"count"` // of files that were to be fed, in all rounds
	Repeat int      `json:"repeat"`
	// Seed of the order; nil for the order of Files.
	Shuffle      *uint64  `json:"shuffle,omitempty"`
	Feed         string   `json:"feed"`
	Timeout      float64  `json:"timeout"` // seconds
	Grace        float64  `json:"grace"`   // seconds
	OnCrash      string   `json:"on_crash"`
	RestartEvery int      `json:"restart_every"`
	MaxUsed      string   `json:"max_device_used,omitempty"` // as given by --max-device-used
	SettleLimit  float64  `json:"settle_limit"`              // seconds
	MaxIdleUsed  string   `json:"max_idle_used,omitempty"`
	MaxRestarts  int      `json:"max_restarts"`
	BackOff      float64  `json:"back_off"` // seconds
	RetryFailed  int      `json:"retry_failed"`
	Until        float64  `json:"until,omitempty"`     // seconds
	Workers      []int    `json:"workers,omitempty"`   // GPUs, with one worker each
	Baselines    []string `json:"baselines,omitempty"` // as given by --baseline

	// The rest is for resuming the run, with the files in batch.jsonl.

	Folder string              `json:"folder"`           // in which vramsoak ran
	Flags  map[string][]string `json:"flags"`            // as given
	Policy string              `json:"policy,omitempty"` // text
}

// Ended returns the info with how the run went.
func (i Info) Ended(outcome *harness.Outcome) Info {
	i.Seconds, i.Reason, i.Processes = outcome.Duration.Seconds(), outcome.Reason, outcome.Processes
	i.Statuses = map[string]int{}
	for status, n := range outcome.Counts {
		i.Statuses[string(status)] = n
	}
	return i
}

// infoMax is the largest run.json that is read, in bytes. A command line of the largest size that
// Linux allows, 2 MiB, fits several times.
const infoMax = 8 << 20

// ReadInfo reads the run.json of a run folder.
func ReadInfo(dir string) (info Info, err error) {
	path := filepath.Join(dir, InfoName)
	text, err := bounded.ReadJSON(path, infoMax)
	if err != nil {
		return Info{}, err
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return Info{}, fmt.Errorf("%s: expected what vramsoak soak wrote there: %w", path, err)
	}
	return info, nil
}
