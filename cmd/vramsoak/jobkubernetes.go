package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/ci/job"
)

func newJobKubernetesCommand() *cobra.Command {
	var soak soakJob
	var k job.Kubernetes
	var f *pflag.FlagSet
	cmd := &cobra.Command{
		Use:   "kubernetes [flags] -- COMMAND...",
		Short: "Print manifests: an Indexed Job that soaks, and a Job that judges it",
		Long: `Kubernetes prints manifests for kubectl apply -f -. An Indexed Job has one pod for
each shard. A shard whose pod is evicted, preempted, killed or lost with its node runs again and
continues where its log ends. A second Job waits for the shards and judges them as one run. If it
completes, the verdict is pass. If it fails, its message has the exit code of the verdict.

The image must have vramsoak and the pipeline in it. All paths, such as those of --files and
--policy, are paths in the pods. The run folder needs a volume that all pods can write
(ReadWriteMany), or a bucket.

The judge needs the right to read the other Job, so there is a Role for it. If you may not create
Roles, --judge suspended prints a judge that begins when you resume it.`,
		Example: `  # Start it at once: 8 pods with one GPU each
  vramsoak job kubernetes --image transcribe:42 --shards 8 --volume soaks:/runs --volume recordings:/data:ro --files /data/audio --run nightly-42 -- python transcribe.py --list {list} | kubectl apply -f -

  # The run in a bucket, the pods queued by Kueue, 16 at the same time
  vramsoak job kubernetes --image transcribe:42 --shards 64 --at-once 16 --kueue-queue nightly --runs s3://soaks/speech --env-from bucket-keys --volume recordings:/data:ro --files /data/audio --run nightly-42 -- python transcribe.py --list {list} > soak.yaml`,
		Args: wants(1, 0, "a command to run after --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := soak.complete(cmd, args); err != nil {
				return err
			}
			k.Soak = soak.Soak
			grace, err := time.ParseDuration(f.Lookup("grace").Value.String())
			if err == nil && grace >= k.Grace {
				return fmt.Errorf("--termination-grace: expected more than --grace, the %v that the "+
					"pipeline has after SIGTERM, found %v", grace, k.Grace)
			}
			return runJobKubernetes(cmd.OutOrStdout(), k)
		},
	}
	f = cmd.Flags()
	soak.addFlags(f)
	soak.Runs = "/runs" // a pod's working directory does not outlive it
	f.Lookup("runs").DefValue = soak.Runs
	const retries = 5
	f.StringVar(&k.Image, "image", "", "`image` with vramsoak and the pipeline in it")
	f.StringVar(&k.Namespace, "namespace", "default", "`namespace` of all objects")
	wholeVar(f, &k.AtOnce, "at-once", 0, 0, "run at most `K` pods at the same time; 0 is no limit")
	wholeVar(f, &k.GPUs, "gpus-per-pod", 1, 0, "`GPUs` of each pod; with --gpus all, each "+
		"of them has a worker")
	f.StringVar(&k.GPUResource, "gpu-resource", "nvidia.com/gpu", "`name` of a GPU in the cluster, "+
		"such as amd.com/gpu or nvidia.com/mig-1g.10gb")
	f.StringVar(&k.CPU, "cpu", "", "`CPUs` of each pod, such as 4 or 500m")
	f.StringVar(&k.Memory, "memory", "", "host memory of each pod, a `size` such as 16Gi")
	f.StringVar(&k.SharedMemory, "shm", "", "`size` of /dev/shm, such as 8Gi; the default is 64 MiB")
	f.StringArrayVar(&k.Volumes, "volume", nil, "mount a `volume` in all pods, such as "+
		"recordings:/data:ro for the claim recordings, configmap/NAME:/FOLDER or secret/NAME:/FOLDER; "+
		"may be repeated")
	f.StringArrayVar(&k.Env, "env", nil, "set a `variable` in all pods, such as HF_HOME=/models; may "+
		"be repeated")
	f.StringArrayVar(&k.EnvFrom, "env-from", nil, "set the variables of this `Secret` in all pods, "+
		"such as the keys of a bucket; may be repeated")
	f.StringVar(&k.ServiceAccount, "service-account", "", "service `account` of all pods, such as "+
		"one that may use the bucket")
	f.StringArrayVar(&k.NodeSelector, "node-selector", nil, "run the shards only on nodes with this "+
		"`label`, such as nvidia.com/gpu.product=NVIDIA-L4; may be repeated")
	f.StringArrayVar(&k.Tolerations, "toleration", nil, "let the shards run on nodes with this "+
		"`taint`, such as spot or pool=gpu:NoSchedule; may be repeated")
	wholeVar(f, &k.Retries, "retries", retries, 0, "start a shard again after up to `N` failures of "+
		"its own; an eviction, a preemption or a lost node does not count")
	wholeVar(f, &k.MaxFailed, "max-failed-shards", 0, 0, "stop all shards when more than `N` have "+
		"failed; 0 is no limit")
	const grace = time.Minute
	spanVar(f, &k.Grace, "termination-grace", grace, "time from SIGTERM to SIGKILL of a pod; longer "+
		"than --grace, the pipeline's")
	f.StringVar(&k.Queue, "kueue-queue", "", "queue the Jobs in this `LocalQueue` of Kueue")
	choiceVar(f, &k.Judge, "judge", job.JudgeAfter, judges, "after waits for the shards; suspended "+
		"waits until you resume it; none prints no judge")
	return cmd
}

// judges are the values of --judge.
var judges = []string{job.JudgeAfter, job.JudgeSuspended, job.JudgeNone}

func runJobKubernetes(out io.Writer, k job.Kubernetes) error { return k.Write(out) }

func newJobWaitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "wait NAME -- COMMAND...",
		Short: "In a pod of Kubernetes: wait until a Job has ended, then run a command",
		Long: `Wait is what the judge of vramsoak job kubernetes does first. It asks the API server
about the Job NAME in the namespace of its own pod, until the Job is complete, has failed or was
deleted. Then it becomes the command. It gives up after 10 minutes in which the server did not
answer, or did not know the Job.

The pod's service account needs the right to get this Job.`,
		Example: `  vramsoak job wait nightly-42 -- vramsoak check /runs/nightly-42`,
		Args:    wants(2, 0, "the name of a Job, and a command after --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 {
				return errors.New("expected the name of one Job and then --, such as: " + example(cmd))
			}
			return runJobWait(cmd.Context(), args[0], args[1:])
		},
	}
}

func runJobWait(ctx context.Context, name string, command []string) error {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	waiter, err := job.InPod(func(line string) {
		stderr.Printf("%s waiting for %s: %s\n", time.Now().UTC().Format(time.TimeOnly), name, line)
	})
	if err != nil {
		return err
	}
	if err := waiter.Wait(ctx, name); err != nil {
		return err
	}
	if err := syscall.Exec(program, command, os.Environ()); err != nil {
		return fmt.Errorf("starting %s: %w", command[0], err)
	}
	return nil
}
