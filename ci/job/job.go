package job

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"vramsoak/harness/bucket"
	"vramsoak/harness/shard"
	"vramsoak/reports/sink"
)

// A Soak is what a job runs, on any engine.
type Soak struct {
	Program string   // vramsoak, as the nodes find it
	Flags   []string // for vramsoak soak, besides those below
	Judging []string // flags for vramsoak check
	Command []string // the pipeline
	Shards  int
	Runs    string // the folder or the bucket of the runs
	Run     string // the name of the run
}

// name matches names that are valid as a folder, as a part of a file name pattern of Slurm and as a
// name in Kubernetes, apart from capitals.
var name = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// Validate returns an error that names everything that is wrong.
func (s Soak) Validate() error {
	var errs []error
	if s.Shards < 1 || s.Shards > shard.Max {
		errs = append(errs, fmt.Errorf("--shards: expected how many tasks share the batch, from 1 to "+
			"%d, found %d", shard.Max, s.Shards))
	}
	if len(s.Run) > 60 || !name.MatchString(s.Run) {
		errs = append(errs, fmt.Errorf("--run: expected a name of at most 60 letters, digits, dots, "+
			"underscores and dashes, found %q", s.Run))
	}
	if s.Runs == "" {
		errs = append(errs, errors.New("--runs: expected a folder or a bucket, found none"))
	} else if err := bucket.CheckRuns(s.Runs); err != nil {
		errs = append(errs, fmt.Errorf("--runs: %w", err))
	}
	return errors.Join(errs...)
}

// Bucket reports whether the run is kept in a bucket, such as s3://soaks/nightly.
func (s Soak) Bucket() bool { return bucket.IsAddress(s.Runs) }

// Whole returns the folder or the address of the whole run.
func (s Soak) Whole() string {
	if s.Bucket() {
		return bucket.Join(s.Runs, s.Run) // with the settings at its end
	}
	return strings.TrimSuffix(s.Runs, "/") + "/" + s.Run
}

// ShardWords returns the command line of a task. The environment says which shard is the task's.
func (s Soak) ShardWords() []string {
	words := []string{s.Program, "soak", "--shard", "auto", "--runs", s.Runs, "--run", s.Run}
	words = append(words, s.Flags...)
	return append(append(words, "--"), s.Command...)
}

// JudgeWords returns the command line of the judge.
func (s Soak) JudgeWords() []string {
	return append(append([]string{s.Program, "check"}, s.Judging...), s.Whole())
}

// shellLine returns words as one command of a shell, folded to lines of about 90 columns.
func shellLine(words []string) string {
	const width = 90
	var b strings.Builder
	column := 0
	for i, word := range words {
		word = sink.Shell(word)
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString(" \\\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
