package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/ci/job"
)

func newJobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Print a job that soaks a batch on a cluster, one shard in each task",
		Long: `Job prints the files with which a cluster soaks a batch: each task takes its share
of the batch, and a last job judges all shards as one run. It starts nothing: pipe what it prints
into the cluster's own command, or keep it and change it.

The flags of vramsoak soak go to each task.`,
		Example: `  # On Slurm
  vramsoak job slurm --shards 8 --files batch.txt -- python transcribe.py --list {list} | sbatch

  # On Kubernetes
  vramsoak job kubernetes --shards 8 --image transcribe:42 --volume soaks:/runs --files /runs/audio -- python transcribe.py --list {list} | kubectl apply -f -`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJobSlurmCommand(), newJobKubernetesCommand(), newJobWaitCommand())
	return cmd
}

// notInJobs are the flags of soak that a job does not pass on: the job sets the first ones itself,
// and the others are for a person who watches a run.
var notInJobs = []string{
	"shard", "run", "runs", "resume", "listen", "format", "verbose", "help", "color",
}

// A soakJob is what the jobs of all engines have in common.
type soakJob struct {
	job.Soak
	soak *pflag.FlagSet // the flags of vramsoak soak
}

// addFlags adds the flags that say what to soak, among them those of vramsoak soak.
func (j *soakJob) addFlags(f *pflag.FlagSet) {
	f.IntVar(&j.Shards, "shards", 0, "how many tasks share the batch, `N`")
	f.StringVar(&j.Run, "run", "", "`name` of the run; the default is soak- and the time")
	f.StringVar(&j.Runs, "runs", "runs", "`folder` of the runs that all nodes see, or a bucket such "+
		"as s3://bucket/prefix")
	f.StringVar(&j.Program, "vramsoak", "vramsoak", "the `program` vramsoak on the nodes")
	j.soak = newSoakCommand().Flags()
	j.soak.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(notInJobs, flag.Name) {
			f.AddFlag(flag)
		}
	})
}

// complete completes the job from the command line.
func (j *soakJob) complete(cmd *cobra.Command, command []string) error {
	j.Command = command
	if j.Run == "" {
		j.Run = time.Now().UTC().Format("soak-2006-01-02T15-04-05Z")
	}
	check := newCheckCommand().Flags()
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if j.soak.Lookup(flag.Name) != flag {
			return
		}
		j.Flags = append(j.Flags, flagWords(flag)...)
		if check.Lookup(flag.Name) != nil {
			j.Judging = append(j.Judging, flagWords(flag)...)
		}
	})
	if !cmd.Flags().Changed("files") {
		return errors.New("--files: expected the batch that the shards share, found none")
	}
	return nil
}

// flagWords returns a flag as words of a command line.
func flagWords(flag *pflag.Flag) (words []string) {
	for _, value := range flagValues(flag) {
		switch {
		case flag.Value.Type() == "bool" && value == "true":
			words = append(words, "--"+flag.Name)
		case flag.Value.Type() == "bool", strings.HasPrefix(value, "-"):
			words = append(words, "--"+flag.Name+"="+value)
		default:
			words = append(words, "--"+flag.Name, value)
		}
	}
	return words
}
