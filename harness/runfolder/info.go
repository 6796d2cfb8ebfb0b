package runfolder

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/secret"
	"vramsoak/parser/bounded"
)

// Schema is the value of "schema" in run.json. It changes with the format.
const Schema = "vramsoak.run/1"

// Running is the reason in run.json while a run goes on. It stays there if the harness is killed.
const Running = "running"

// An Info is the content of run.json: the command, the machine, the flags of the run, and its
// result. The details are in the log.
type Info struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	Command []string `json:"command"` // with its secrets masked
	// Digest is the [secret.Digest] of the command if secrets in Command are masked. It tells a resume
	// whether the user gives the same command.
	Digest string `json:"command_digest,omitempty"`
	// Commit is the git commit of the folder in which vramsoak ran.
	Commit    string         `json:"commit,omitempty"`
	Host      string         `json:"host"`
	GPUs      []GPU          `json:"gpus"`
	Driver    string         `json:"driver,omitempty"`
	Config    Config         `json:"config"`
	Share     *Share         `json:"share,omitempty"` // nil if the run works on the whole batch
	Started   time.Time      `json:"started"`
	Seconds   float64        `json:"seconds"`
	Reason    string         `json:"reason"`
	Statuses  map[string]int `json:"statuses"`  // number of files, by status
	Processes int            `json:"processes"` // number of processes started
}

// A Share says on which part of a batch a shard works.
type Share struct {
	Shard  int    `json:"shard"` // from 1
	Shards int    `json:"shards"`
	From   string `json:"from,omitempty"` // the variables that gave the number; "" for --shard I/N
	Batch  string `json:"batch"`          // digest of the whole batch: see package shard
}

// A GPU is a GPU of the machine.
type GPU struct {
	Name  string `json:"name"`
	Total int64  `json:"total"` // bytes
}

// A Config holds the flags with which a run was started.
type Config struct {
	Files  []string `json:"files"` // as given by --files
	Count  int      `json:"count"` // files in all rounds
	Repeat int      `json:"repeat"`
	// Shuffle is the seed of the random order; nil for the order of Files.
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

	// The following fields, and batch.jsonl, are needed to resume the run.

	Folder string              `json:"folder"`           // working directory of vramsoak
	Flags  map[string][]string `json:"flags"`            // as the user gave them
	Policy string              `json:"policy,omitempty"` // text of the policy file
}

// Ended returns a copy of i to which the outcome of the run is added.
func (i Info) Ended(outcome *harness.Outcome) Info {
	i.Seconds, i.Reason, i.Processes = outcome.Duration.Seconds(), outcome.Reason, outcome.Processes
	i.Statuses = map[string]int{}
	for status, n := range outcome.Counts {
		i.Statuses[string(status)] = n
	}
	return i
}

// IsCommand reports whether command is the command with which the run in the folder dir began. If
// secrets in Command are masked, it compares the digest.
func (i Info) IsCommand(dir string, command []string) (bool, error) {
	if i.Digest == "" {
		return slices.Equal(i.Command, command), nil
	}
	same, err := secret.Matches(i.Digest, command)
	if err != nil {
		return false, fmt.Errorf("%s: command_digest: %w", filepath.Join(dir, InfoName), err)
	}
	return same, nil
}

// infoMax is the largest run.json that is read, in bytes. Linux allows command lines of up to 2
// MiB, so even the longest command fits several times.
const infoMax = 8 << 20

// ReadInfo returns the content of the run.json of a run folder.
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
