package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/ci/job"
)

func newJobSlurmCommand() *cobra.Command {
	var soak soakJob
	var slurm job.Slurm
	cmd := &cobra.Command{
		Use:   "slurm [flags] -- COMMAND...",
		Short: "Print an sbatch script: an array that soaks, and a job that judges it",
		Long: `Slurm prints a script for sbatch. It submits an array with one task for each shard
and a judge that runs when all tasks have ended. The exit code of the judge's job is the verdict. A
task whose node fails, that is preempted, that is killed, or whose time is nearly over is queued
again and continues where its log ends.

The script goes into sbatch, or into bash, which submits the same jobs from the login node:
bash SCRIPT --wait exits with the verdict.`,
		Example: `  # Submit it at once
  vramsoak job slurm --shards 8 --files batch.txt -- python transcribe.py --list {list} | sbatch

  # Keep the script, submit it from here, wait for the verdict
  vramsoak job slurm --shards 64 --at-once 16 --time 4:00:00 --partition gpu --files batch.txt --runs /shared/runs --run nightly-42 -- python transcribe.py --list {list} > soak.sh
  bash soak.sh --wait`,
		Args: wants(1, 0, "a command to run after --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := soak.complete(cmd, args); err != nil {
				return err
			}
			slurm.Soak = soak.Soak
			return runJobSlurm(cmd.OutOrStdout(), slurm)
		},
	}
	f := cmd.Flags()
	soak.addFlags(f)
	const lead = 2 * time.Minute
	const requeues = 20
	wholeVar(f, &slurm.AtOnce, "at-once", 0, 0, "run at most `K` tasks at the same time; 0 is no "+
		"limit")
	f.StringVar(&slurm.Gres, "gres", "gpu:1", "what each task gets, such as gpu:a100:2; empty for "+
		"no `GPU`")
	f.StringVar(&slurm.Time, "time", "", "time limit of a task in Slurm's `format`, such as 4:00:00; "+
		"the default is the partition's")
	spanVar(f, &slurm.Lead, "signal-lead", lead, "stop a task this long before its time limit and "+
		"queue it again")
	wholeVar(f, &slurm.MaxRequeues, "max-requeues", requeues, 0, "queue a task again only if it "+
		"started again less than `N` times")
	f.StringVar(&slurm.Partition, "partition", "", "`partition` of all jobs")
	f.StringVar(&slurm.Account, "account", "", "`account` of all jobs")
	wholeVar(f, &slurm.CPUs, "cpus-per-task", 0, 0, "`CPUs` of each task; 0 leaves it to the cluster")
	f.StringVar(&slurm.Memory, "mem", "", "`memory` of each task, such as 32G")
	f.StringArrayVar(&slurm.Setup, "setup", nil, "a `line` of shell that each task runs first, such "+
		"as 'module load cuda'; may be repeated")
	f.StringArrayVar(&slurm.Extra, "sbatch", nil, "a further `option` of sbatch for the shards, such "+
		"as --sbatch=--constraint=a100; may be repeated, and wins over the script's own")
	f.StringArrayVar(&slurm.JudgeExtra, "judge-sbatch", nil, "such an `option` for the judge and the "+
		"job that submits; may be repeated")
	return cmd
}

func runJobSlurm(out io.Writer, slurm job.Slurm) error { return slurm.Write(out) }
